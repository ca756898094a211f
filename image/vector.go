package image

// ordinal is the stable number of a topic inside one line of images: it does
// not change while the topic lives, and is used again after it is deleted.
type ordinal uint32

const (
	leafBits = 3
	nodeBits = 5
	leafRows = 1 << leafBits // topics in a leaf
	nodeKids = 1 << nodeBits // leaves under a node, nodes under an upper node
)

// vector is a persistent array of topics by ordinal: root, upper nodes, nodes,
// leaves. Two versions share every node that no change between them touched.
// A change copies one leaf (200 bytes), one node of each kind (264 bytes) and
// the root (8 bytes for each 8,192 topics): what a change costs is mostly the
// memory that it takes, so that the nodes are small.
type vector struct {
	root []*vectorUpper
	len  uint32 // ordinals ever used, holes of deleted topics included
}

// owner names the builder that made a node and may therefore still change it
// in place. An owner is never used by two builders.
type owner uint64

type vectorUpper struct {
	owner owner
	nodes [nodeKids]*vectorNode
}

type vectorNode struct {
	owner  owner
	leaves [nodeKids]*vectorLeaf
}

type vectorLeaf struct {
	owner owner
	rows  [leafRows]topicRow
}

// at returns the row of an ordinal below len, for reading only.
func (v *vector) at(o ordinal) *topicRow {
	upper := v.root[o>>(leafBits+2*nodeBits)]
	return &upper.nodes[o>>(leafBits+nodeBits)%nodeKids].leaves[o>>leafBits%nodeKids].rows[o%leafRows]
}

// edit returns the row of an ordinal, for writing. It copies what w does not
// own yet. rootOwned says whether w owns the root, and is set.
func (v *vector) edit(o ordinal, w owner, rootOwned *bool) *topicRow {
	if !*rootOwned {
		v.root = append(make([]*vectorUpper, 0, len(v.root)+1), v.root...)
		*rootOwned = true
	}
	upper := v.ownUpper(int(o>>(leafBits+2*nodeBits)), w)
	node := upper.ownNode(int(o>>(leafBits+nodeBits)%nodeKids), w)
	return &node.ownLeaf(int(o>>leafBits%nodeKids), w).rows[o%leafRows]
}

func (v *vector) ownUpper(i int, w owner) *vectorUpper {
	if i == len(v.root) {
		v.root = append(v.root, &vectorUpper{owner: w})
	}
	upper := v.root[i]
	if upper.owner == w {
		return upper
	}
	c := *upper
	c.owner = w
	v.root[i] = &c
	return &c
}

func (u *vectorUpper) ownNode(i int, w owner) *vectorNode {
	node := u.nodes[i]
	switch {
	case node == nil:
		node = &vectorNode{owner: w}
	case node.owner != w:
		c := *node
		c.owner = w
		node = &c
	default:
		return node
	}
	u.nodes[i] = node
	return node
}

func (n *vectorNode) ownLeaf(i int, w owner) *vectorLeaf {
	leaf := n.leaves[i]
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
	n.leaves[i] = leaf
	return leaf
}
