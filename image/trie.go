package image

// trie is a persistent map from a 32-bit hash to ordinals: eight bytes an
// entry, in leaves of at most trieLeaf entries. It does not hold the keys:
// the caller compares the key in the topic's own row. Two versions share
// every node that no change between them touched.
type trie struct {
	root *trieNode
}

type trieEntry struct {
	hash uint32
	ord  ordinal
}

// kid is the child that the entry belongs to under a node of the depth.
func (e trieEntry) kid(depth uint) uint32 { return e.hash >> (depth * trieBits) % trieFan }

// trieNode is a leaf (kids is nil) or an inner node (entries is nil).
type trieNode struct {
	owner   owner
	entries []trieEntry
	kids    *[trieFan]*trieNode
}

const (
	trieBits  = 3
	trieFan   = 1 << trieBits
	trieLeaf  = 32
	trieDepth = 32 / trieBits // levels that the hash can tell apart
	// leafRoom is what a new leaf has room for: about twice what a split
	// leaves it with.
	leafRoom = 8
)

// bucket returns the entries among which those of hash are. It may hold
// entries of other hashes.
func (t trie) bucket(hash uint32) []trieEntry {
	n := t.root
	for shift := uint(0); n != nil; shift += trieBits {
		if n.kids == nil {
			return n.entries
		}
		n = n.kids[hash>>shift%trieFan]
	}
	return nil
}

// insert adds an entry; w may change the nodes that it owns in place.
func (t *trie) insert(e trieEntry, w owner) { t.root = t.root.insert(e, 0, w) }

func (n *trieNode) insert(e trieEntry, depth uint, w owner) *trieNode {
	if n == nil {
		return &trieNode{owner: w, entries: append(make([]trieEntry, 0, leafRoom), e)}
	}
	n = n.own(w)
	if n.kids == nil && len(n.entries) >= trieLeaf && depth < trieDepth {
		n.split(depth, w)
	}
	if n.kids == nil {
		n.entries = append(n.entries, e)
		return n
	}
	i := e.kid(depth)
	n.kids[i] = n.kids[i].insert(e, depth+1, w)
	return n
}

// split turns a full leaf into an inner node.
func (n *trieNode) split(depth uint, w owner) {
	entries := n.entries
	n.entries, n.kids = nil, new([trieFan]*trieNode)
	for _, e := range entries {
		i := e.kid(depth)
		n.kids[i] = n.kids[i].insert(e, depth+1, w)
	}
}

// remove takes an entry out, if it is there.
func (t *trie) remove(e trieEntry, w owner) { t.root = t.root.remove(e, 0, w) }

func (n *trieNode) remove(e trieEntry, depth uint, w owner) *trieNode {
	if n == nil {
		return nil
	}
	n = n.own(w)
	if n.kids != nil {
		i := e.kid(depth)
		n.kids[i] = n.kids[i].remove(e, depth+1, w)
		if n.childless() {
			return nil
		}
		return n
	}
	for i := range n.entries {
		if n.entries[i] == e {
			n.entries = append(n.entries[:i], n.entries[i+1:]...)
			break
		}
	}
	if len(n.entries) == 0 {
		return nil
	}
	return n
}

func (n *trieNode) childless() bool {
	for _, k := range n.kids {
		if k != nil {
			return false
		}
	}
	return true
}

// own returns n if w owns it, or a copy that w owns.
func (n *trieNode) own(w owner) *trieNode {
	if n.owner == w {
		return n
	}
	c := &trieNode{owner: w}
	if n.kids != nil {
		kids := *n.kids
		c.kids = &kids
	} else {
		c.entries = append(make([]trieEntry, 0, len(n.entries)+1), n.entries...)
	}
	return c
}
