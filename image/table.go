package image

import (
	"iter"

	"github.com/tidwall/btree"
)

// table is a sorted set of items in which two versions share what no change
// between them touched. The zero table is not usable: see newTable.
//
// A table that is part of an image is only read. A builder works on a copy,
// which costs nothing until it is changed.
type table[T any] struct {
	tree *btree.BTreeG[T]
}

func newTable[T any](less func(a, b T) bool) table[T] {
	return table[T]{btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 16})}
}

// copy returns a table that can be changed without changing t. Only the one
// goroutine that builds images may call it.
func (t table[T]) copy() table[T] { return table[T]{t.tree.Copy()} }

func (t table[T]) len() int { return t.tree.Len() }

func (t table[T]) get(key T) (T, bool) { return t.tree.Get(key) }

func (t table[T]) set(item T) { t.tree.Set(item) }

func (t table[T]) delete(key T) bool {
	_, existed := t.tree.Delete(key)
	return existed
}

// all yields the items in order.
func (t table[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) { t.tree.Scan(yield) }
}

// from yields the items in order, beginning with key.
func (t table[T]) from(key T) iter.Seq[T] {
	return func(yield func(T) bool) { t.tree.Ascend(key, yield) }
}

// equal compares two tables item by item.
func (t table[T]) equal(u table[T], same func(a, b T) bool) bool {
	if t.len() != u.len() {
		return false
	}
	if t.tree == u.tree {
		return true
	}
	next, stop := iter.Pull(u.all())
	defer stop()
	for a := range t.all() {
		if b, ok := next(); !ok || !same(a, b) {
			return false
		}
	}
	return true
}
