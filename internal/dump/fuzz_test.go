package dump

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/internal/wire"
)

// FuzzRecord: whatever a record holds, each form prints one record that acts
// on no terminal, and JSON is JSON.
func FuzzRecord(f *testing.F) {
	logs := []logfile.Log{logfile.Metadata, logfile.Offsets, logfile.Transactions, logfile.Shares}
	for i, kind := range []string{"metadata", "group", "transaction", "share"} {
		for _, v := range vectors.Load(f, kind) {
			if v.Kafka == "4.4.0" {
				f.Add(uint8(i), false, []byte(v.KeyBytes), []byte(v.Bytes))
			}
		}
	}
	for _, v := range vectors.Load(f, "control") {
		f.Add(uint8(0), true, []byte{0, 0, 0, byte(v.APIKey)}, []byte(v.Bytes))
	}
	f.Add(uint8(1), false, []byte("\x00\x03\x00\x0b\x1b[2J\u202e\uffffx"), []byte{0, 0, 0, 0, 0, 1})
	for _, v := range classicGroups(f, "consumer") {
		f.Add(uint8(1), false, []byte("\x00\x02\x00\x01g"), v.AppendJSON(nil, 3))
	}
	f.Fuzz(func(t *testing.T, log uint8, control bool, key, value []byte) {
		p := &logfile.Partition{Log: logs[log%4], Number: 1}
		s := &source{partition: p, file: &logfile.File{}}
		h := &recordbatch.Header{}
		if control {
			h.Attributes = recordbatch.Control
		}
		d := decoder{log: p.Log, secrets: wire.ShowSecrets}
		for _, form := range []form{jsonForm{}, &yamlForm{}, newForm(&cli.Output{}), newForm(&cli.Output{Format: cli.WideFormat})} {
			var e entry
			d.decode(h, &recordbatch.Record{Key: key, Value: value}, &e)
			text := string(form.appendEntry(nil, s, &e))
			if _, ok := form.(*yamlForm); ok {
				require.Equal(t, "---\nlog: ", text[:9])
				continue
			}
			if _, ok := form.(jsonForm); ok {
				require.True(t, json.Valid([]byte(text)), text)
			}
			require.Equal(t, 1, lines(text), text)
			text = text[:len(text)-1]
			require.Equal(t, text, cli.Escape(text))
		}
	})
}
