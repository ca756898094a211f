//go:build !detectors

package loader

import "github.com/kraftside/kraftside/image"

// detector does nothing without the build tag detectors.
type detector struct{}

func (*detector) publish(*image.MetadataImage) {}
