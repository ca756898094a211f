package store

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/kraftside/kraftside/image"
)

// batch is rows on their way to Pebble. It is memory only, until it is
// committed, and takes whatever comes: the errors of Pebble's methods are nil.
type batch struct{ *pebble.Batch }

func (s *Store) newBatch() batch { return batch{s.engine.db.NewBatch()} }

// put sets a row; nil deletes it.
func (b batch) put(key, value []byte) {
	if value == nil {
		_ = b.Delete(key, nil)
		return
	}
	_ = b.Set(key, value, nil)
}

// removeRange deletes the rows from the first key on and below the second.
func (b batch) removeRange(from, to []byte) { _ = b.DeleteRange(from, to, nil) }

// putChunk writes a chunk of a topic, or removes one that is empty, past the
// first.
func (b batch) putChunk(generation uint32, t image.Topic, chunk uint32, packed string) {
	key := chunkKey(make([]byte, 0, 32), generation, t.ID(), chunk)
	if chunk > 0 && packed == "" {
		b.put(key, nil)
		return
	}
	var head []byte
	if chunk == 0 {
		head = appendTopicHead(make([]byte, 0, 64), t.Name())
	}
	op := b.SetDeferred(len(key), len(head)+len(packed))
	copy(op.Key, key)
	copy(op.Value[copy(op.Value, head):], packed)
	_ = op.Finish()
}
