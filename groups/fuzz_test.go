package groups

import (
	"testing"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/internal/wire"
)

// The input of FuzzReplay is a log: an operation a byte, then what it needs.
const (
	fuzzCommit    = iota // byte: producer
	fuzzAbort            // byte: producer
	fuzzTombstone        // key
	fuzzRecord           // key, value
	fuzzPending          // byte: producer; key, value
	fuzzOperations
)

func appendFuzzed(b []byte, e *event) []byte {
	switch {
	case e.end && e.commit:
		return append(b, fuzzCommit, byte(e.ProducerID))
	case e.end:
		return append(b, fuzzAbort, byte(e.ProducerID))
	case e.Value == nil:
		return appendFuzzedBytes(append(b, fuzzTombstone), e.Key)
	case e.ProducerID == noProducer:
		b = append(b, fuzzRecord)
	default:
		b = append(b, fuzzPending, byte(e.ProducerID))
	}
	return appendFuzzedBytes(appendFuzzedBytes(b, e.Key), e.Value)
}

func appendFuzzedBytes(b, field []byte) []byte {
	return append(wire.AppendUint16(b, uint16(len(field))), field...)
}

func readFuzzed(b []byte) (log []event) {
	r := wire.NewReader(b)
	field := func() []byte { return append([]byte{}, r.Raw(min(int(r.Uint16()), r.Len()))...) }
	for r.Len() > 0 {
		e := event{Record: Record{Offset: kafka.Offset(len(log)), Timestamp: int64(len(log)), ProducerID: noProducer}}
		switch op := uint8(r.Int8()) % fuzzOperations; op {
		case fuzzCommit, fuzzAbort:
			e.end, e.commit, e.ProducerID = true, op == fuzzCommit, int64(r.Int8())
		case fuzzTombstone:
			e.Key = field()
		case fuzzRecord:
			e.Key, e.Value = field(), field()
		case fuzzPending:
			e.ProducerID = int64(r.Int8())
			e.Key, e.Value = field(), field()
		}
		log = append(log, e)
	}
	return log
}

// FuzzReplay: no bytes make a panic, and the law of the rows holds for any.
func FuzzReplay(f *testing.F) {
	var all []byte
	for _, v := range vectors.Load(f, "group") {
		e := event{Record: Record{ProducerID: noProducer, Key: v.KeyBytes, Value: v.Bytes}}
		one := appendFuzzed(nil, &e)
		f.Add(one)
		all = append(all, one...)
	}
	f.Add(all)
	for seed := range uint64(10) {
		var b []byte
		for _, e := range newCoordinator(f, seed).run(60) {
			b = appendFuzzed(b, &e)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newReplica(Options{})
		for _, e := range readFuzzed(b) {
			r.step(&e)
		}
		r.requireRestorable(t)
	})
}
