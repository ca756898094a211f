package groups

import "github.com/kraftside/kraftside/internal/kafka"

// RowKind says what a row is about, and so what its key is.
type RowKind uint8

const (
	// RowRecord: the key is the key of a record of __consumer_offsets, and the
	// value is the record's value. The key of a committed offset has record
	// type 1 even if the record had type 0. An empty value stands for a
	// tombstone that left something behind: a member or a target assignment
	// whose epoch is -1.
	RowRecord RowKind = iota + 1
	// RowPending is a RowRecord of an offset whose transaction is open. The
	// producer id is part of what identifies the row.
	RowPending
	// RowGroup: the key is the id of a group that exists. Every group has one.
	RowGroup
	// RowShard: there is one at most, its key is empty. It has the anomalies.
	RowShard
)

// Row is one row of a shard, identified by Kind, ProducerID and Key.
type Row struct {
	Kind       RowKind
	ProducerID int64 // -1 unless Kind is RowPending
	Key, Value []byte
	// Offset and Timestamp (milliseconds since 1970) are those of the record
	// that wrote the row.
	Offset    kafka.Offset
	Timestamp int64
}

// Effect is a change of the rows: the row is put in the place of the one with
// the same identity, or that one is deleted. Of a deletion only the identity
// is set. Deleting a row that does not exist has no effect.
type Effect struct {
	Delete bool
	Row
}

// Change says what a record did to its group. Several may be set.
type Change uint8

const (
	// GroupCreated: the group exists now. With GroupRemoved: it took the place
	// of a group of the same id.
	GroupCreated Change = 1 << iota
	// GroupRemoved: the group is gone. Offsets may be left.
	GroupRemoved
	// GroupChanged: what Freeze returns may be another, and no longer is the
	// same one.
	GroupChanged
	// OffsetsChanged: a committed or a pending offset was put or removed.
	OffsetsChanged
)

// Outcome is what a record changed. Its slices and what they point to are
// valid until the next call of a method that changes the shard; those of the
// effects may also alias the record.
type Outcome struct {
	// Group is the id of the group that the record is about. It is empty for
	// the end of a transaction and for a key that cannot be decoded.
	Group  string
	Change Change
	// Effects are to be applied in order.
	Effects []Effect
	// Subscribed and Unsubscribed are the topics that got the first, or lost
	// the last, consumer, share or streams group of the shard that subscribes
	// to them.
	Subscribed, Unsubscribed []string
	// Anomaly is what was wrong with the record, nil if nothing was.
	Anomaly *Anomaly
}

// reset empties the outcome and keeps the memory.
func (o *Outcome) reset() {
	*o = Outcome{
		Effects:      o.Effects[:0],
		Subscribed:   o.Subscribed[:0],
		Unsubscribed: o.Unsubscribed[:0],
	}
}

// put adds the row of the current record.
func (s *Shard) put() {
	s.out.Effects = append(s.out.Effects, Effect{Row: Row{
		Kind: RowRecord, ProducerID: noProducer, Key: s.cur.Key, Value: s.cur.Value,
		Offset: s.cur.Offset, Timestamp: s.cur.Timestamp,
	}})
}

// putOwn adds a row that is not the record itself.
func (s *Shard) putOwn(kind RowKind, key, value []byte) {
	s.out.Effects = append(s.out.Effects, Effect{Row: Row{
		Kind: kind, ProducerID: noProducer, Key: key, Value: value,
		Offset: s.cur.Offset, Timestamp: s.cur.Timestamp,
	}})
}

// drop removes a row.
func (s *Shard) drop(kind RowKind, producerID int64, key []byte) {
	s.out.Effects = append(s.out.Effects, Effect{Delete: true, Row: Row{Kind: kind, ProducerID: producerID, Key: key}})
}

// dropRecord removes the row of a record of the group.
func (s *Shard) dropRecord(key []byte) { s.drop(RowRecord, noProducer, key) }
