//go:build detectors

package loader

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/wire"
)

// detector proves invariant 2 in tests: it holds some published images, and
// looks from time to time whether they are still what they were.
type detector struct {
	published int
	held      []heldImage
}

type heldImage struct {
	image *image.MetadataImage
	sum   uint64
}

const (
	detectEvery = 64 // images between two looks, which cost as much as an image has records
	detectHeld  = 4
)

func (d *detector) publish(m *image.MetadataImage) {
	d.published++
	if d.published%detectEvery != 0 {
		return
	}
	for _, h := range d.held {
		if sum(h.image) != h.sum {
			panic(fmt.Sprintf("the image of %s changed after it was published", h.image.Provenance()))
		}
	}
	d.held = append(d.held, heldImage{m, sum(m)})
	if len(d.held) > detectHeld {
		d.held = d.held[1:]
	}
}

func sum(m *image.MetadataImage) uint64 { return xxh3.Hash(m.AppendText(nil, wire.ShowSecrets)) }
