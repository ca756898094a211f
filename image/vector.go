package image

// ordinal is the stable number of a topic inside one line of images: it does
// not change while the topic lives, and is used again after it is deleted.
type ordinal uint32

const (
	leafRows = 16 // topics in a leaf
	midWidth = 64 // leaves under a middle node
	leafBits = 4
	midBits  = 6
)

// vector is a persistent array of topics by ordinal: root, middle nodes,
// leaves. Two versions share every node that no change between them touched.
// A change copies one leaf (400 bytes), one middle node (520 bytes) and the
// root (8 bytes for each 1,024 topics).
type vector struct {
	root []*vectorMid
	len  uint32 // ordinals ever used, holes of deleted topics included
}

// owner names the builder that made a node and may therefore still change it
// in place. An owner is never used by two builders.
type owner uint64

type vectorMid struct {
	owner  owner
	leaves [midWidth]*vectorLeaf
}

type vectorLeaf struct {
	owner owner
	rows  [leafRows]topicRow
}

// at returns the row of an ordinal below len, for reading only.
func (v *vector) at(o ordinal) *topicRow {
	return &v.root[o>>(leafBits+midBits)].leaves[o>>leafBits%midWidth].rows[o%leafRows]
}

// edit returns the row of an ordinal, for writing. It copies what w does not
// own yet. rootOwned says whether w owns the root, and is set.
func (v *vector) edit(o ordinal, w owner, rootOwned *bool) *topicRow {
	if !*rootOwned {
		v.root = append(make([]*vectorMid, 0, len(v.root)+1), v.root...)
		*rootOwned = true
	}
	mid := v.ownMid(int(o>>(leafBits+midBits)), w)
	return &mid.ownLeaf(int(o>>leafBits%midWidth), w).rows[o%leafRows]
}

func (v *vector) ownMid(i int, w owner) *vectorMid {
	if i == len(v.root) {
		v.root = append(v.root, &vectorMid{owner: w})
	}
	mid := v.root[i]
	if mid.owner != w {
		c := *mid
		c.owner = w
		mid = &c
		v.root[i] = mid
	}
	return mid
}

func (m *vectorMid) ownLeaf(i int, w owner) *vectorLeaf {
	leaf := m.leaves[i]
	switch {
	case leaf == nil:
		leaf = &vectorLeaf{owner: w}
	case leaf.owner != w:
		c := *leaf
		c.owner = w
		leaf = &c
	default:
		return leaf
	}
	m.leaves[i] = leaf
	return leaf
}
