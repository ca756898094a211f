package dump

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/wire"
)

// textForm prints a line a record: place, time, type, and the fields as
// name=value. Fields that are null are left out, unless it is wide.
type textForm struct {
	*cli.Text
}

// Columns have fixed widths, so that nothing waits for what comes later. They
// fit all but a few types.
const (
	placeWidth = 8
	typeWidth  = 36
)

func (t textForm) appendEntry(b []byte, _ *source, e *entry) []byte {
	t.Reset()
	t.Printf("%*d  %s  ", placeWidth, e.offset, t.Dim(t.Format(e.timestamp)))
	if t.Wide {
		t.batch(e)
	}
	t.Printf("%-*s ", typeWidth, typeOf(e))
	if e.key != nil {
		t.fields(e.key)
	}
	switch {
	case e.err != nil:
		t.failure(e)
	case e.control || e.key == nil:
		t.fields(e.data)
	case e.data == nil:
		t.Printf(" %s", t.Yellow("removed"))
	default:
		t.Printf("%s", t.Dim(" :"))
		t.fields(e.data)
	}
	if e.batch.IsTransactional() {
		t.Printf("  producer %d epoch %d", e.batch.ProducerID, e.batch.ProducerEpoch)
	}
	return append(append(b, bytes.TrimRight(t.Bytes(), " ")...), '\n')
}

func typeOf(e *entry) string {
	switch {
	case e.name == "":
		return "unknown"
	case e.version < 0:
		return e.name
	}
	return fmt.Sprintf("%s v%d", e.name, e.version)
}

// batch adds what is known of the record's batch.
func (t textForm) batch(e *entry) {
	h := e.batch
	t.Printf("%-40s  ", fmt.Sprintf("epoch %d  batch %d-%d  %d B  %s", h.LeaderEpoch, h.BaseOffset, h.LastOffset(), h.Size, h.Compression()))
}

func (t textForm) fields(json []byte) {
	f := fields{src: json, nulls: t.Wide}
	t.Printf(" ")
	_, _ = t.Write(f.text()) // cannot fail
}

func (t textForm) failure(e *entry) {
	t.Printf(" %s", t.Red(cli.Escape(e.err.Error())))
	if e.rawKey != nil {
		t.Printf("  key %s", hex.EncodeToString(e.rawKey))
	}
	switch {
	case e.withheld:
		t.Printf("  value %s", wire.Redacted)
	case e.raw == nil:
		t.Printf("  value null")
	default:
		t.Printf("  value %s", hex.EncodeToString(e.raw))
	}
}
