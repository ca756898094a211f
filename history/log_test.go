package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// cluster writes images, each of which creates a topic.
type cluster struct {
	t     testing.TB
	image *image.MetadataImage
}

func newCluster(t testing.TB) *cluster { return &cluster{t, image.Empty()} }

// next is a delta of one batch, which is appended so many seconds after 1970.
func (c *cluster) next(seconds int64, messages ...record.Message) *delta.Delta {
	return c.apply(delta.New(c.image), c.image.Provenance().Offset+kafka.Offset(len(messages)), seconds, messages)
}

func (c *cluster) snapshot(end kafka.Offset, messages ...record.Message) *delta.Delta {
	return c.apply(delta.NewSnapshot(c.image), end, 0, messages)
}

func (c *cluster) apply(d *delta.Delta, offset kafka.Offset, seconds int64, messages []record.Message) *delta.Delta {
	for _, m := range messages {
		require.NoError(c.t, d.Replay(m))
	}
	c.image = d.Apply(image.Provenance{Offset: offset, Epoch: 1, AppendTime: seconds * 1000})
	return d
}

func topic(n int) record.Message {
	return &record.TopicRecord{Name: fmt.Sprintf("topic-%d", n), TopicID: kafka.NewUUID(1, uint64(n))}
}

func noOp() record.Message { return &record.NoOpRecord{} }

func offsets(l *Log) (list []kafka.Offset) {
	for e := range l.Entries() {
		list = append(list, e.Offset)
	}
	return list
}

// What nobody is told of is no entry; the first snapshot is none, and a later
// one is the difference that it makes.
func TestFollow(t *testing.T) {
	c, l := newCluster(t), New(DefaultLimits)
	require.Nil(t, l.Follow(c.snapshot(10, topic(1))))
	require.Nil(t, l.Follow(c.next(1, noOp())))
	e := l.Follow(c.next(2, topic(2), noOp()))
	require.Equal(t, &Entry{
		Offset: 13, From: 12, Epoch: 1, Time: 2000,
		Changes: []delta.Change{{Kind: delta.TopicCreated, Topic: "topic-2", TopicID: kafka.NewUUID(1, 2)}},
	}, e)
	require.True(t, e.Has(12) && e.Has(13) && !e.Has(11) && !e.Has(14))
	e = l.Follow(c.snapshot(20, topic(2)))
	require.True(t, e.Snapshot)
	require.Equal(t, kafka.Offset(14), e.From)
	require.Equal(t, "topic topic-1 is deleted", e.Changes[0].Summary())
	require.Equal(t, []kafka.Offset{13, 20}, offsets(l))
}

// A log that was young when it was first read is history from its first record.
func TestFollowFromTheFirstRecord(t *testing.T) {
	c, l := newCluster(t), New(DefaultLimits)
	require.NotNil(t, l.Follow(c.next(1, topic(1))))
	require.Equal(t, []kafka.Offset{0}, offsets(l))
}

// Where the log was replaced, what it had there has not happened.
func TestReplacedLog(t *testing.T) {
	c, l := newCluster(t), New(DefaultLimits)
	l.Follow(c.next(1, topic(1)))
	first := c.image
	gone := l.Follow(c.next(2, topic(2)))
	l.TakeRows(func(kafka.Offset, []byte) {})
	c.image = first
	kept := l.Follow(c.next(3, topic(3)))
	require.Equal(t, []kafka.Offset{0, 1}, offsets(l))
	require.False(t, l.Holds(gone))
	require.True(t, l.Holds(kept))

	c.image = image.Empty()
	require.Nil(t, l.Follow(c.snapshot(0, topic(4))))
	require.Empty(t, offsets(l))
}

// The oldest go first, by number, by size and by age; one entry stays, however
// large it is, without the changes that are too many.
func TestLimits(t *testing.T) {
	c, l := newCluster(t), New(Limits{Entries: 3, Changes: 2, All: 4})
	for n := range 5 {
		l.Follow(c.next(int64(n), topic(n)))
	}
	require.Equal(t, []kafka.Offset{2, 3, 4}, offsets(l))
	e := l.Follow(c.next(5, topic(5), topic(6), topic(7)))
	require.Len(t, e.Changes, 2)
	require.Equal(t, 1, e.More)
	require.Equal(t, []kafka.Offset{3, 4, 7}, offsets(l))
	l.Expire(4000)
	require.Equal(t, []kafka.Offset{4, 7}, offsets(l))
	l.Expire(9000)
	require.Empty(t, offsets(l))
}

// The rows that were taken are at any time those of the entries that are kept,
// and a Log that is made of them has the same entries.
func TestRows(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, l, rows := newCluster(t), New(Limits{Entries: 10, Changes: 3, All: 20}), map[kafka.Offset][]byte{}
		images := []*image.MetadataImage{c.image}
		for n := range 100 {
			switch r.IntN(10) {
			case 0:
				c.image = images[r.IntN(len(images))] // the log was replaced from there on
			case 1:
				l.Expire(int64(n-5) * 1000)
			default:
				l.Follow(c.next(int64(n), slices.Repeat([]record.Message{noOp(), topic(n)}, r.IntN(2))...))
			}
			images = append(images, c.image)
			if r.IntN(3) == 0 {
				requireRows(t, c, l, rows)
			}
		}
		requireRows(t, c, l, rows)
	}
}

func requireRows(t *testing.T, c *cluster, l *Log, rows map[kafka.Offset][]byte) {
	l.TakeRows(func(offset kafka.Offset, row []byte) {
		if row == nil {
			delete(rows, offset)
			return
		}
		rows[offset] = row
	})
	require.Equal(t, rows, maps.Collect(l.AllRows()))
	m := image.Empty()
	if newest := slices.Collect(l.Entries()); len(newest) > 0 {
		m = c.image
		if last := newest[len(newest)-1].Offset; m.Provenance().Offset < last {
			return // the log was replaced, and nothing was read of it since
		}
	}
	again := New(l.limits)
	require.NoError(t, again.Restore(m, l.AllRows()))
	require.Equal(t, slices.Collect(l.Entries()), slices.Collect(again.Entries()))
	require.Equal(t, l.size, again.size)
}

func TestRestoreRefuses(t *testing.T) {
	c, l := newCluster(t), New(DefaultLimits)
	l.Follow(c.next(1, topic(1)))
	l.Follow(c.next(2, topic(2)))
	rows := maps.Collect(l.AllRows())
	for name, list := range map[string][]kafka.Offset{"beyond the image": {0, 1, 7}, "not in order": {1, 0}, "twice": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			l := New(DefaultLimits)
			err := l.Restore(c.image, func(yield func(kafka.Offset, []byte) bool) {
				for _, offset := range list {
					if !yield(offset, rows[min(offset, 0)]) {
						return
					}
				}
			})
			require.ErrorIs(t, err, ErrRow)
			require.Empty(t, offsets(l))
		})
	}
}

func FuzzRestore(f *testing.F) {
	c, l := newCluster(f), New(DefaultLimits)
	l.Follow(c.next(1, topic(1)))
	for _, row := range l.AllRows() {
		f.Add(int64(0), row)
	}
	f.Fuzz(func(t *testing.T, offset int64, row []byte) {
		l := New(DefaultLimits)
		err := l.Restore(c.image, func(yield func(kafka.Offset, []byte) bool) { yield(kafka.Offset(offset), row) })
		if err != nil {
			require.ErrorIs(t, err, ErrRow)
			require.Empty(t, offsets(l))
			return
		}
		for offset, row := range l.AllRows() {
			again := New(DefaultLimits)
			require.NoError(t, again.Restore(c.image, func(yield func(kafka.Offset, []byte) bool) { yield(offset, row) }))
		}
	})
}
