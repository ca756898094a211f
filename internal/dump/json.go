package dump

import (
	"encoding/hex"
	"strconv"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/wire"
)

// jsonForm prints one line of JSON a record, in the form of docs/commands.md.
// What Kafka's dump tool prints of a record stands in it unchanged.
type jsonForm struct{}

func (jsonForm) appendEntry(b []byte, f *source, e *entry) []byte {
	b = append(b, `{"log":"`...)
	b = append(b, f.partition.Log...)
	b = append(b, '"')
	if f.several {
		b = appendInt(b, "partition", int64(f.partition.Number))
	}
	b = appendPlace(b, f.file, e)
	switch {
	case e.err != nil:
		b = appendFailure(b, e)
	case e.control:
		b = appendProducer(b, e)
		b = append(b, `,"control":`...)
		b = wire.AppendJSONString(b, e.name)
		b = append(b, `,"data":`...)
		b = append(b, e.data...)
	default:
		b = appendInt(b, "epoch", int64(e.batch.LeaderEpoch))
		b = appendInt(b, "timestamp", e.timestamp)
		b = appendProducer(b, e)
		b = appendContent(b, e)
	}
	return append(b, '}', '\n')
}

// appendPlace says where the record is. The offsets in a snapshot count from 0
// in the file and say nothing.
func appendPlace(b []byte, f *logfile.File, e *entry) []byte {
	if !f.Snapshot {
		return appendInt(b, "offset", int64(e.offset))
	}
	if f.EndOffset < 0 {
		return append(b, `,"snapshot":{"endOffset":null,"epoch":null}`...)
	}
	b = append(b, `,"snapshot":{"endOffset":`...)
	b = strconv.AppendInt(b, int64(f.EndOffset), 10)
	b = appendInt(b, "epoch", int64(f.Epoch))
	return append(b, '}')
}

// appendProducer names the producer of a transaction, which ties its records
// to the marker that ends it.
func appendProducer(b []byte, e *entry) []byte {
	if !e.batch.IsTransactional() {
		return b
	}
	b = appendInt(b, "producerId", e.batch.ProducerID)
	return appendInt(b, "producerEpoch", int64(e.batch.ProducerEpoch))
}

func appendContent(b []byte, e *entry) []byte {
	if e.key == nil {
		b = append(b, `,"payload":{"type":`...)
		b = wire.AppendJSONString(b, e.name)
		b = appendInt(b, "version", int64(e.version))
		b = append(b, `,"data":`...)
		b = append(b, e.data...)
		return append(b, '}')
	}
	b = appendKey(b, e)
	if e.data == nil {
		return append(b, `,"value":null`...)
	}
	b = append(b, `,"value":{"version":"`...)
	b = strconv.AppendInt(b, int64(e.version), 10)
	b = append(b, `","data":`...)
	b = append(b, e.data...)
	return append(b, '}')
}

func appendKey(b []byte, e *entry) []byte {
	b = append(b, `,"key":{"type":"`...)
	b = strconv.AppendInt(b, int64(e.number), 10)
	b = append(b, `","data":`...)
	b = append(b, e.key...)
	return append(b, '}')
}

// appendFailure says why the record cannot be decoded, with its bytes. "hex" is
// the value; "keyHex" is there if it is the key that failed.
func appendFailure(b []byte, e *entry) []byte {
	if e.key != nil {
		b = appendKey(b, e)
	}
	b = append(b, `,"error":`...)
	b = wire.AppendJSONString(b, e.err.Error())
	if e.rawKey != nil {
		b = append(b, `,"keyHex":"`...)
		b = hex.AppendEncode(b, e.rawKey)
		b = append(b, '"')
	}
	switch {
	case e.withheld:
		return append(b, `,"hex":"`+wire.Redacted+`"`...)
	case e.raw == nil:
		return append(b, `,"hex":null`...)
	}
	b = append(b, `,"hex":"`...)
	b = hex.AppendEncode(b, e.raw)
	return append(b, '"')
}

func appendInt(b []byte, key string, v int64) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return strconv.AppendInt(b, v, 10)
}

// yamlForm prints a document a record, of the structure of its JSON.
type yamlForm struct{ line []byte }

func (y *yamlForm) appendEntry(b []byte, f *source, e *entry) []byte {
	y.line = jsonForm{}.appendEntry(y.line[:0], f, e)
	b = append(b, "---\n"...)
	b, err := cli.AppendYAML(b, y.line)
	if err != nil { // a JSON line that is no YAML, which cannot be
		return append(b, y.line...)
	}
	return b
}
