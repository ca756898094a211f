//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/realkafka"
)

// storedHash is a record of type 3, 11 or 17 as the broker wrote it. A
// tombstone has no hash.
type storedHash struct {
	Type      record.Type
	Group     string
	Partition int32
	Offset    int64
	Epoch     int32
	Hash      int64
	Tombstone bool
}

func (s storedHash) String() string {
	if s.Tombstone {
		return fmt.Sprintf("%s %d removed by offset %d of partition %d", s.Group, s.Type, s.Offset, s.Partition)
	}
	return fmt.Sprintf("%s epoch %d hash %d at offset %d of partition %d", s.Group, s.Epoch, s.Hash, s.Offset, s.Partition)
}

// coordinatorLog reads __consumer_offsets as any consumer can, by other code
// than a sidecar's, and keeps every hash that the broker stored.
type coordinatorLog struct {
	client *kgo.Client
	wait   sync.WaitGroup

	mu      sync.Mutex
	entries map[int32][]offsetslog.Entry
	hashes  []storedHash
	records map[string][]record.Type // of each group, by its key
	decoder record.Decoder
	failed  error
}

func readCoordinatorLog(t testing.TB, c *realkafka.Cluster) *coordinatorLog {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(c.Bootstrap()...),
		kgo.ConsumeTopics(kafka.OffsetsTopic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadUncommitted()),
		kgo.KeepControlRecords(),
		kgo.FetchMaxWait(pollInterval*10),
	)
	require.NoError(t, err)
	l := &coordinatorLog{client: client, entries: map[int32][]offsetslog.Entry{}, records: map[string][]record.Type{}}
	l.wait.Go(l.run)
	t.Cleanup(func() {
		client.Close()
		l.wait.Wait()
	})
	return l
}

func (l *coordinatorLog) run() {
	for {
		fetched := l.client.PollFetches(context.Background())
		if fetched.IsClientClosed() {
			return
		}
		fetched.EachRecord(func(r *kgo.Record) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if err := l.add(r); err != nil && l.failed == nil {
				l.failed = fmt.Errorf("offset %d of partition %d: %w", r.Offset, r.Partition, err)
			}
		})
	}
}

func (l *coordinatorLog) add(r *kgo.Record) error {
	e := offsetslog.Entry{Record: groups.Record{
		Offset: kafka.Offset(r.Offset), Timestamp: r.Timestamp.UnixMilli(), ProducerID: r.ProducerID, Key: r.Key, Value: r.Value,
	}}
	if !r.Attrs.IsTransactional() {
		e.ProducerID = -1
	}
	if r.Attrs.IsControl() {
		e.End = offsetslog.Abort
		if binary.BigEndian.Uint16(r.Key[2:]) == 1 {
			e.End = offsetslog.Commit
		}
	}
	l.entries[r.Partition] = append(l.entries[r.Partition], e)
	if r.Attrs.IsControl() {
		return nil
	}
	key, err := l.decoder.Key(r.Key)
	if err != nil {
		return err
	}
	s := storedHash{Type: key.Type(), Group: key.Owner(), Partition: r.Partition, Offset: r.Offset, Tombstone: r.Value == nil}
	l.records[s.Group] = append(l.records[s.Group], s.Type)
	switch s.Type {
	case record.TypeConsumerGroupMetadata, record.TypeShareGroupMetadata, record.TypeStreamsGroupMetadata:
	default:
		return nil
	}
	if !s.Tombstone {
		value, _, err := l.decoder.Value(s.Type, r.Value)
		if err != nil {
			return err
		}
		switch v := value.(type) {
		case *record.ConsumerGroupMetadataValue:
			s.Epoch, s.Hash = v.Epoch, v.MetadataHash
		case *record.ShareGroupMetadataValue:
			s.Epoch, s.Hash = v.Epoch, v.MetadataHash
		case *record.StreamsGroupMetadataValue:
			s.Epoch, s.Hash = v.Epoch, v.MetadataHash
		}
	}
	l.hashes = append(l.hashes, s)
	return nil
}

// of returns what was stored for a group, oldest first.
func (l *coordinatorLog) of(group string) (all []storedHash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.hashes {
		if h.Group == group {
			all = append(all, h)
		}
	}
	return all
}

// newest returns the hash that is in force; false if there is none.
func (l *coordinatorLog) newest(group string) (storedHash, bool) {
	all := l.of(group)
	if len(all) == 0 || all[len(all)-1].Tombstone {
		return storedHash{}, false
	}
	return all[len(all)-1], true
}

// all returns everything that was stored, by partition and offset.
func (l *coordinatorLog) all() ([]storedHash, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.hashes)
	slices.SortFunc(all, func(a, b storedHash) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset - b.Offset)
	})
	return all, l.failed
}

// typesOf returns the types of all records of a group, in their order.
func (l *coordinatorLog) typesOf(group string) []record.Type {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records[group])
}

// replay is the state of a partition by the records below an offset; an error
// while they have not all been read.
func (l *coordinatorLog) replay(partition int32, next kafka.Offset, o groups.Options) (*groups.Shard, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.entries[partition]
	if next > 0 && (len(all) == 0 || all[len(all)-1].Offset < next-1) {
		return nil, fmt.Errorf("partition %d is not read up to offset %d", partition, next)
	}
	s := groups.NewShard(partition, o)
	for i := range all {
		switch e := &all[i]; {
		case e.Offset >= next:
		case e.End != offsetslog.NoEnd:
			s.EndTransaction(e.ProducerID, e.End == offsetslog.Commit)
		default:
			s.Replay(&e.Record)
		}
	}
	return s, nil
}

func (l *coordinatorLog) mustNewest(t testing.TB, group string) storedHash {
	t.Helper()
	h, ok := l.newest(group)
	require.True(t, ok, "a hash of group %s", group)
	return h
}
