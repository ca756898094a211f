package recordbatch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// openers are the two ways to read; both must behave the same.
var openers = map[string]func(io.Reader, int64) *Reader{"inline": NewReader, "ahead": ReadAhead}

// segment is n batches back to back, with a large one among them.
func segment(t testing.TB, n int) (b []byte, bounds []int64) {
	offset := kafka.Offset(0)
	for i := range n {
		records := 1 + i%7
		if i == n/2 {
			records = 3 * blockSize / 15 // over two blocks
		}
		b = append(b, simpleBatch(t, offset, records)...)
		bounds = append(bounds, int64(len(b)))
		offset += kafka.Offset(records)
	}
	return b, bounds
}

// drain reads to the end and returns how many batches came, where the Reader
// stood and why it stopped.
func drain(t testing.TB, r *Reader) (n int, position int64, err error) {
	defer r.Close()
	next := kafka.Offset(0)
	for {
		batch, err := r.Next()
		if err != nil {
			_, again := r.Next()
			require.Equal(t, err, again)
			return n, r.Position(), err
		}
		require.Equal(t, next, batch.BaseOffset)
		next = batch.NextOffset()
		n++
	}
}

func TestReaderReadsEverything(t *testing.T) {
	const batches = 20_000
	b, _ := segment(t, batches)
	for name, open := range openers {
		for shape, src := range map[string]io.Reader{
			"whole": bytes.NewReader(b), "halves": iotest.HalfReader(bytes.NewReader(b)), "data with EOF": iotest.DataErrReader(bytes.NewReader(b)),
		} {
			t.Run(name+"/"+shape, func(t *testing.T) {
				n, position, err := drain(t, open(src, 1000))
				require.Equal(t, io.EOF, err)
				require.Equal(t, batches, n)
				require.Equal(t, int64(1000+len(b)), position)
			})
		}
	}
}

// Batches that are all larger than a block leave a tail that is larger than
// the block it goes to.
func TestReaderReadsLargeBatches(t *testing.T) {
	var b []byte
	offset := kafka.Offset(0)
	for range 12 {
		const records = 4 * blockSize / 15
		b = append(b, simpleBatch(t, offset, records)...)
		offset += records
	}
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			n, position, err := drain(t, open(bytes.NewReader(b), 0))
			require.Equal(t, io.EOF, err)
			require.Equal(t, 12, n)
			require.Equal(t, int64(len(b)), position)
		})
	}
}

func TestReaderOfNothing(t *testing.T) {
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			n, position, err := drain(t, open(bytes.NewReader(nil), 0))
			require.Equal(t, io.EOF, err)
			require.Zero(t, n)
			require.Zero(t, position)
		})
	}
}

// A file cut at any byte is partial, unless cut between two batches; the
// position is the end of the last whole batch.
func TestReaderOfEveryPrefix(t *testing.T) {
	b := append(simpleBatch(t, 0, 2), simpleBatch(t, 2, 1)...)
	first := int64(len(simpleBatch(t, 0, 2)))
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			for cut := range len(b) {
				_, position, err := drain(t, open(bytes.NewReader(b[:cut]), 0))
				sound := int64(0)
				if int64(cut) >= first {
					sound = first
				}
				require.Equal(t, sound, position)
				if zeros(b[sound:cut]) { // nothing, or the first bytes of a base offset
					require.Equal(t, io.EOF, err, "cut at %d", cut)
				} else {
					require.ErrorIs(t, err, ErrPartial, "cut at %d", cut)
				}
			}
		})
	}
}

func TestReaderStopsAtZeros(t *testing.T) {
	b := simpleBatch(t, 0, 2)
	size := int64(len(b))
	for name, open := range openers {
		for _, n := range []int{1, 11, 12, 61, 4096, 3 * blockSize} {
			t.Run(name, func(t *testing.T) {
				_, position, err := drain(t, open(bytes.NewReader(append(bytes.Clone(b), make([]byte, n)...)), 0))
				require.Equal(t, io.EOF, err)
				require.Equal(t, size, position)

				dirty := append(bytes.Clone(b), make([]byte, n+100)...)
				dirty[len(dirty)-1] = 1
				_, position, err = drain(t, open(bytes.NewReader(dirty), 0))
				require.ErrorIs(t, err, ErrCorrupt, "zeros with data behind them are damage")
				require.Equal(t, size, position)
			})
		}
	}
}

// growing is a file that a writer appends to whenever its end has been met.
type growing struct{ parts []io.Reader }

func (g *growing) Read(b []byte) (int, error) {
	n, err := g.parts[0].Read(b)
	if err == io.EOF && len(g.parts) > 1 {
		g.parts = g.parts[1:]
	}
	return n, err
}

// A file that grows just after its end was met has ended all the same: what
// was appended is for the next Reader.
func TestReaderEndsWhereAGrowingFileEnded(t *testing.T) {
	b, bounds := segment(t, 20)
	for name, open := range openers {
		for _, padding := range []int{0, 1, 11, 12, 100, blockSize} {
			for i, bound := range bounds[:len(bounds)-1] {
				now := append(slices.Clip(b[:bound]), make([]byte, padding)...)
				n, position, err := drain(t, open(&growing{[]io.Reader{bytes.NewReader(now), bytes.NewReader(b[bound:])}}, 0))
				require.ErrorIs(t, err, io.EOF, "%s, %d zeros, after batch %d", name, padding, i)
				require.Equal(t, i+1, n)
				require.Equal(t, bound, position)
			}
		}
	}
}

func TestReaderNamesWhereDamageIs(t *testing.T) {
	b, bounds := segment(t, 100)
	at := bounds[70]
	b[at+30] ^= 1
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			n, position, err := drain(t, open(bytes.NewReader(b), 500))
			require.Equal(t, 71, n)
			require.Equal(t, 500+at, position)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, 500+at, e.Position)
			require.Positive(t, e.Offset)
			require.ErrorIs(t, err, ErrCorrupt)
		})
	}
}

func TestReaderPassesReadErrorsOn(t *testing.T) {
	b := simpleBatch(t, 0, 2)
	broken := errors.New("disk on fire")
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			n, position, err := drain(t, open(io.MultiReader(bytes.NewReader(b), iotest.ErrReader(broken)), 0))
			require.Equal(t, 1, n)
			require.Equal(t, int64(len(b)), position)
			require.ErrorIs(t, err, broken)
		})
	}
}

// Close in the middle ends the goroutine although blocks are waiting.
func TestReadAheadClosesEarly(t *testing.T) {
	b, _ := segment(t, 20_000)
	r := ReadAhead(bytes.NewReader(b), 0)
	_, err := r.Next()
	require.NoError(t, err)
	r.Close()
	r.Close()
}

// A length that the file does not bear out allocates no more than the file.
func TestReaderAllocatesByTheFileNotByItsClaims(t *testing.T) {
	b := simpleBatch(t, 0, 2)
	b[8] = 6 // 100 MB
	r := NewReader(bytes.NewReader(b), 0)
	_, _, err := drain(t, r)
	require.ErrorIs(t, err, ErrPartial)
	require.LessOrEqual(t, cap(r.blocks.(*inline).block.buf), 2*blockSize)
}

// bigSegment writes a file like a snapshot of a large cluster: about 129 MB in
// 1.1 M records.
func bigSegment(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "segment")
	f, err := os.Create(path)
	require.NoError(b, err)
	defer f.Close()
	const perBatch = 1000
	records := make([]Record, perBatch)
	for i := range 1100 {
		base := kafka.Offset(i * perBatch)
		for j := range records {
			records[j] = Record{Offset: base + kafka.Offset(j), Value: make([]byte, 108)}
		}
		batch, err := Append(nil, Header{BaseOffset: base, LastOffsetDelta: perBatch - 1}, records)
		require.NoError(b, err)
		_, err = f.Write(batch)
		require.NoError(b, err)
	}
	return path
}

func benchmarkFile(b *testing.B, open func(io.Reader, int64) *Reader, each func(*Batch)) {
	path := bigSegment(b)
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(path)
		require.NoError(b, err)
		r := open(f, 0)
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			require.NoError(b, err)
			each(&batch)
		}
		r.Close()
		f.Close()
	}
}

func BenchmarkReadAndCheck(b *testing.B) { benchmarkFile(b, NewReader, func(*Batch) {}) }

func benchmarkRecords(b *testing.B, open func(io.Reader, int64) *Reader) {
	var d Decoder
	var r Record
	n := 0
	benchmarkFile(b, open, func(batch *Batch) {
		require.NoError(b, d.Start(batch))
		for d.Next(&r) {
			n += len(r.Value)
		}
	})
	require.Positive(b, n)
}

func BenchmarkReadRecords(b *testing.B)      { benchmarkRecords(b, NewReader) }
func BenchmarkReadRecordsAhead(b *testing.B) { benchmarkRecords(b, ReadAhead) }

func TestReaderReset(t *testing.T) {
	const batches = 50
	b, bounds := segment(t, batches)
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			r := open(bytes.NewReader(b[:bounds[2]-1]), 0)
			for range 2 {
				_, err := r.Next()
				require.NoError(t, err)
			}
			_, err := r.Next()
			require.ErrorIs(t, err, ErrPartial)

			r.Reset(bytes.NewReader(b[bounds[1]:]), bounds[1])
			batch, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, b[bounds[1]:bounds[2]], batch.Bytes())
			require.Equal(t, bounds[2], r.Position())

			r.Reset(bytes.NewReader(b), 0)
			n, position, err := drain(t, r)
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, batches, n)
			require.Equal(t, int64(len(b)), position)
		})
	}
}
