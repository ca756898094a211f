package store

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// What a store is closed with, the next one opens with, however long the
// history.
func TestReopen(t *testing.T) {
	fs := vfs.NewMem()
	w := newWorld(t, 1)
	w.store = open(t, memOptions(fs))
	for range 20 {
		for range 20 {
			w.turn()
			w.store.MaybeCommit(w.now)
		}
		require.NoError(t, w.store.Close())
		w.store = open(t, memOptions(fs))
		loaded := reload(t, w.store)
		requireSame(t, w, loaded, "reopened")
		require.True(t, w.image.Equal(loaded.image))
		w.image = loaded.image // it goes on from what it has loaded
	}
	require.Equal(t, Status{Persisting: true}, Status{Persisting: w.store.Status().Persisting})
	require.NoError(t, w.store.Close())
}

// Effects wait for 50 ms, offsets alone for 5 s.
func TestGroupCommit(t *testing.T) {
	s := open(t, memOptions(vfs.NewMem()))
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	committed := func(now time.Time) bool {
		before := s.Durable()
		s.MaybeCommit(now)
		s.await()
		return s.Durable().Metadata != before.Metadata
	}
	m := image.Empty()
	publish := func(offset kafka.Offset, r record.Message) {
		d := delta.New(m)
		require.NoError(t, d.Replay(r))
		m = d.Apply(image.Provenance{Offset: offset})
		s.Metadata(d)
	}
	require.True(t, committed(at(0)) == false)
	publish(1, &record.TopicRecord{Name: "a", TopicID: kafka.UUID{1}})
	require.Equal(t, commitDelay, s.MaybeCommit(at(0)))
	require.Equal(t, 20*time.Millisecond, s.MaybeCommit(at(30)))
	require.True(t, committed(at(50)))
	require.Equal(t, kafka.Offset(1), s.Durable().Metadata.Offset)

	publish(2, &record.NoOpRecord{})
	require.Equal(t, 4*time.Second, s.MaybeCommit(at(1050)))
	publish(3, &record.NoOpRecord{})
	require.False(t, committed(at(5049)))
	require.True(t, committed(at(5050)))
	require.Equal(t, kafka.Offset(3), s.Durable().Metadata.Offset)

	publish(4, &record.NoOpRecord{})
	require.NoError(t, s.Flush())
	require.Equal(t, kafka.Offset(4), s.Durable().Metadata.Offset)
	require.NoError(t, s.Close())
}

// A topic may be deleted and be there again with its old id, in one delta.
func TestTopicGoneAndBack(t *testing.T) {
	fs := vfs.NewMem()
	w := newWorld(t, 1)
	w.store = open(t, memOptions(fs))
	topic := &record.TopicRecord{Name: "a", TopicID: kafka.UUID{7}}
	w.metadata([]record.Message{topic})
	w.metadata([]record.Message{&record.RemoveTopicRecord{TopicID: topic.TopicID}, topic})
	require.NoError(t, w.store.Close())
	s := open(t, memOptions(fs))
	requireSame(t, w, reload(t, s), "reopened")
	require.NoError(t, s.Close())
}
