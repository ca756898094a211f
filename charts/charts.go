// Package charts holds the Helm chart for the commands that need it.
package charts

import "embed"

// Kraftside is the chart in the directory kraftside: its values and the templates
// that others are made of.
//
//go:embed kraftside/Chart.yaml kraftside/values.yaml kraftside/templates/_*.tpl
var Kraftside embed.FS
