package image

import "github.com/kraftside/kraftside/internal/kafka"

// freshIndex finds topics while an image is made from nothing, as from a
// snapshot. A trie that grows by one topic after the other is read and written
// all over memory; a flat table takes one access, and the tries are made of it
// at once when the image is done.
type freshIndex struct {
	byID, byName flatTable
}

// flatTable is a hash table with linear probing. It keeps 1 + ordinal, so that
// the zero entry is a free slot, and never gets fuller than
// seven eighths.
type flatTable struct {
	slots []trieEntry
	used  int
}

const minFlatTable = 64

// slot is where the search for a hash begins.
func (t *flatTable) slot(hash uint32) int { return int(hash) & (len(t.slots) - 1) }

// find returns the ordinal of the first entry with the hash whose row is the
// one that is looked for.
func (t *flatTable) find(hash uint32, rows *vector, is func(*topicRow) bool) (ordinal, bool) {
	if t.used == 0 {
		return 0, false
	}
	for i := t.slot(hash); t.slots[i].ord != 0; i = (i + 1) & (len(t.slots) - 1) {
		if e := t.slots[i]; e.hash == hash && is(rows.at(e.ord-1)) {
			return e.ord - 1, true
		}
	}
	return 0, false
}

func (t *flatTable) insert(e trieEntry) {
	if 8*t.used >= 7*len(t.slots) {
		t.grow()
	}
	i := t.slot(e.hash)
	for t.slots[i].ord != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = trieEntry{e.hash, e.ord + 1}
	t.used++
}

func (t *flatTable) grow() {
	old := t.slots
	t.slots, t.used = make([]trieEntry, max(minFlatTable, 2*len(old))), 0
	for _, e := range old {
		if e.ord != 0 {
			t.insert(trieEntry{e.hash, e.ord - 1})
		}
	}
}

// trie makes the trie of all entries. The table is used up.
func (t *flatTable) trie(w owner) trie {
	entries := t.slots[:0]
	for _, e := range t.slots {
		if e.ord != 0 {
			entries = append(entries, trieEntry{e.hash, e.ord - 1})
		}
	}
	t.slots = nil
	return trie{bulkTrie(entries, make([]trieEntry, len(entries)), 0, w)}
}

// bulkTrie makes the node over entries, whose order it changes. spare is of the
// same length.
func bulkTrie(entries, spare []trieEntry, depth uint, w owner) *trieNode {
	if len(entries) == 0 {
		return nil
	}
	if len(entries) <= trieLeaf || depth >= trieDepth {
		return &trieNode{owner: w, entries: append(make([]trieEntry, 0, len(entries)), entries...)}
	}
	var end [trieFan]int
	for _, e := range entries {
		end[e.kid(depth)]++
	}
	for i := 1; i < trieFan; i++ {
		end[i] += end[i-1]
	}
	n := &trieNode{owner: w, kids: new([trieFan]*trieNode)}
	next := end
	for i := len(entries) - 1; i >= 0; i-- {
		k := entries[i].kid(depth)
		next[k]--
		spare[next[k]] = entries[i]
	}
	for k, start := range next {
		n.kids[k] = bulkTrie(spare[start:end[k]], entries[start:end[k]], depth+1, w)
	}
	return n
}

// index makes the tries of what the flat tables hold, if they are in use.
func (b *TopicsBuilder) index() {
	if b.fresh == nil {
		return
	}
	b.img.byID, b.img.byName = b.fresh.byID.trie(b.owner), b.fresh.byName.trie(b.owner)
	b.fresh = nil
}

func (b *TopicsBuilder) findID(id kafka.TopicID) (ordinal, bool) {
	if b.fresh == nil {
		return b.img.findID(id)
	}
	return b.fresh.byID.find(hashID(id), &b.img.rows, func(r *topicRow) bool { return r.data != "" && r.id() == id })
}

func (b *TopicsBuilder) findName(name string) (ordinal, bool) {
	if b.fresh == nil {
		return b.img.findName(name)
	}
	return b.fresh.byName.find(hashName(name), &b.img.rows, func(r *topicRow) bool { return r.data != "" && r.name() == name })
}

// insert makes a new topic known by its id and its name.
func (b *TopicsBuilder) insert(id kafka.TopicID, name string, o ordinal) {
	byID, byName := trieEntry{hashID(id), o}, trieEntry{hashName(name), o}
	if b.fresh != nil {
		b.fresh.byID.insert(byID)
		b.fresh.byName.insert(byName)
		return
	}
	b.img.byID.insert(byID, b.owner)
	b.img.byName.insert(byName, b.owner)
}
