package rebalance

import (
	"encoding/binary"
	"testing"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
)

// FuzzRecords: whatever bytes records are made of, nothing fails, and no more
// is kept than the limits say. The input is a list of records, each with the
// lengths of its key and its value before it.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x00\x05\x02\x00\x03\x00\x01g\x00\x00"))
	f.Add([]byte("\x00\x05\x10\x00\x03\x00\x01g\x00\x00\x00\x00\x00\x02\x01\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := newPlayer(Limits{Images: 2, Touches: 2, Rebalances: 3, PerGroup: 2, Members: 4, Undecided: 2, Causes: 2})
		for offset := int64(0); len(data) >= 3; offset++ {
			key := int(binary.BigEndian.Uint16(data))
			value := int(data[2])
			data = data[3:]
			r := groups.Record{Offset: kafka.Offset(offset), ProducerID: -1, Key: take(&data, key), Value: take(&data, value)}
			r.Timestamp = offset / 3
			p.partition.Before(&r)
			p.shard.Replay(&r)
		}
		p.partition.End()
		kept := 0
		for _, g := range p.e.groups {
			kept += len(g.rebalances)
		}
		if kept > 3 || len(p.e.waiting) > 2 {
			t.Fatalf("%d rebalances and %d waiting are kept", kept, len(p.e.waiting))
		}
	})
}

// take cuts up to n bytes off; none are nil.
func take(data *[]byte, n int) []byte {
	n = min(n, len(*data))
	if n == 0 {
		return nil
	}
	head := (*data)[:n:n]
	*data = (*data)[n:]
	return head
}
