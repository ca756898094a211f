package dump

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/recordgen/vectors"
)

func TestFields(t *testing.T) {
	for json, want := range map[string]string{
		`{}`:                                         ``,
		`{"a":1,"b":"x","c":null,"d":true}`:          `a=1 b=x d=true`,
		`{"a":null,"b":1}`:                           `b=1`,
		`{"a":[],"b":[1,-2],"c":{},"d":["x"]}`:       `a=[] b=[1,-2] c={} d=[x]`,
		`{"a":[{"b":"c","n":null},{"b":"d e"}]}`:     `a=[{b=c},{b="d e"}]`,
		`{"a":"","b":"1,2","c":"q\"q","d":"\u001B"}`: `a="" b="1,2" c="q\"q" d="\u001B"`,
		`{"a":"k=v","b":"\\","c":"ü中","d":1.5E10}`:   `a="k=v" b="\\" c=ü中 d=1.5E10`,
	} {
		f := fields{src: []byte(json)}
		require.Equal(t, want, string(f.text()), json)
	}
	f := fields{src: []byte(`{"a":null,"b":{"c":null}}`), nulls: true}
	require.Equal(t, `a=null b={c=null}`, string(f.text()))
	for _, broken := range []string{``, `{`, `{"`, `{"a`, `{"a":`, `{"a":[`, `{"a":[1`, `{"a":"\`, `x`} {
		require.NotPanics(t, func() { (&fields{src: []byte(broken)}).text() }, broken)
	}
}

func BenchmarkDump(b *testing.B) {
	log := logdirtest.New(b, b.TempDir()+"/__consumer_offsets-0", 0)
	var records []recordbatch.Record
	for _, v := range vectors.Load(b, "group") {
		if v.Kafka == "4.4.0" && v.Name == "OffsetCommit" && v.Version == 4 && v.Instance == "typical" {
			for range 1000 {
				records = append(records, recordbatch.Record{Key: v.KeyBytes, Value: v.Bytes})
			}
		}
	}
	for range 20 {
		log.AppendBatch(recordbatch.Header{}, records)
	}
	for _, format := range []cli.Format{cli.JSONFormat, cli.TextFormat, cli.YAMLFormat} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(size(b, log.Path(0)))
			for b.Loop() {
				if err := Run(&cli.Output{Out: io.Discard, Err: io.Discard, Format: format}, []string{log.Dir}, Options{To: kafka.UnknownOffset}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(20000*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
