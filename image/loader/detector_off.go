//go:build !invariants

package loader

import "github.com/kraftside/kraftside/image"

// detector does nothing without the build tag invariants.
type detector struct{}

func (*detector) publish(*image.MetadataImage) {}
