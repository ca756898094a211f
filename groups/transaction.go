package groups

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups/record"
)

// A transaction is known by its producer id alone: its end marker carries an
// epoch that may be another than that of its records. Hanging transactions
// cost what they hold, and hide nothing.

// transaction are the offsets that a producer has not yet committed.
type transaction map[pendingKey]pendingOffset

type pendingKey struct {
	group     *group
	topic     string
	partition int32
}

type pendingOffset struct {
	committed
	timestamp int64 // of the record
}

// addPending keeps an offset until the transaction ends. A later one of the
// same producer takes its place.
func (s *Shard) addPending(g *group, k offsetKey, v *record.OffsetCommitValue) {
	tx := s.transactions[s.cur.ProducerID]
	if tx == nil {
		tx = make(transaction, 1)
		s.transactions[s.cur.ProducerID] = tx
	}
	key := pendingKey{group: g, partition: k.partition}
	c := pendingOffset{
		committed: committed{
			offset: v.Offset, recordOffset: s.cur.Offset, commitTimestamp: v.CommitTimestamp, leaderEpoch: v.LeaderEpoch,
		},
		timestamp: s.cur.Timestamp,
	}
	if t := g.offsets[string(k.topic)]; t != nil {
		key.topic, c.detail = t.name.Value(), t.detailOf(nil, v)
	} else {
		key.topic, c.detail = string(k.topic), (&topicOffsets{}).detailOf(nil, v)
	}
	before := len(tx)
	tx[key] = c
	g.pending += len(tx) - before
	s.putOffset(k)
	row := &s.out.Effects[len(s.out.Effects)-1]
	row.Kind, row.ProducerID = RowPending, s.cur.ProducerID
}

// EndTransaction applies a control record: the offsets of the producer's
// transaction are committed, or forgotten. An offset that was committed by a
// later record stays (OffsetMetadataManager.replayEndTransactionMarker).
func (s *Shard) EndTransaction(producerID int64, commit bool) Outcome {
	s.begin(&Record{ProducerID: producerID})
	tx := s.transactions[producerID]
	if tx == nil {
		return s.out
	}
	delete(s.transactions, producerID)
	s.out.Change |= OffsetsChanged
	for _, k := range tx.sorted() {
		c := tx[k]
		k.group.pending--
		rowKey := s.key1(k.group.id, k.topic, k.partition)
		s.drop(RowPending, producerID, rowKey)
		if commit {
			s.install(k, c, rowKey)
		}
		s.release(k.group)
	}
	return s.out
}

// install commits an offset unless the committed one is newer.
func (s *Shard) install(k pendingKey, c pendingOffset, rowKey []byte) {
	t := k.group.topic([]byte(k.topic))
	if old, ok := t.get(k.partition); ok && old.recordOffset >= c.recordOffset {
		return
	}
	t.put(k.partition, c.committed)
	s.out.Effects = append(s.out.Effects, Effect{Row: Row{
		Kind: RowRecord, ProducerID: noProducer, Key: rowKey, Value: s.offsetRow(&c.committed),
		Offset: c.recordOffset, Timestamp: c.timestamp,
	}})
}

// offsetRow encodes an offset as a value of the current version. It holds all
// that is kept of older ones.
func (s *Shard) offsetRow(c *committed) []byte {
	v := record.OffsetCommitValue{Offset: c.offset, LeaderEpoch: c.leaderEpoch, CommitTimestamp: c.commitTimestamp}
	if c.detail != nil {
		v.Metadata, v.TopicID = c.detail.metadata, c.detail.topicID
	}
	start := len(s.keys)
	// The texts were read from a record, so they are not too long to be written.
	s.keys, _ = record.AppendValue(s.keys, &v, record.TypeOffsetCommit.HighestVersion())
	return s.keys[start:len(s.keys):len(s.keys)]
}

// removePending takes an offset out of all transactions.
func (s *Shard) removePending(g *group, k offsetKey) {
	key := pendingKey{g, string(k.topic), k.partition}
	for _, producerID := range slices.Sorted(maps.Keys(s.transactions)) {
		tx := s.transactions[producerID]
		if _, ok := tx[key]; !ok {
			continue
		}
		delete(tx, key)
		g.pending--
		s.out.Change |= OffsetsChanged
		s.drop(RowPending, producerID, s.offsetKey(k))
		if len(tx) == 0 {
			delete(s.transactions, producerID)
		}
	}
}

// sorted are the keys of the transaction in order, so that effects are a
// function of the log.
func (tx transaction) sorted() []pendingKey {
	keys := slices.Collect(maps.Keys(tx))
	slices.SortFunc(keys, func(a, b pendingKey) int {
		return cmp.Or(strings.Compare(a.group.id, b.group.id), strings.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	return keys
}

// appendPending adds the group's offsets of open transactions.
func (s *Shard) appendPending(out []CommittedOffset, g *group) []CommittedOffset {
	for producerID, tx := range s.transactions {
		for k, c := range tx {
			if k.group == g {
				out = append(out, c.export(k.topic, k.partition, producerID))
			}
		}
	}
	return out
}
