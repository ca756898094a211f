package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// bench is one run of the command.
type bench struct {
	result
	file  string
	id    metadatalog.SnapshotID
	runs  int
	image *image.MetadataImage
}

// loadImage reads the snapshot as a sidecar that starts does.
func (b *bench) loadImage() (*image.MetadataImage, error) {
	f, err := os.Open(b.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := metadatalog.NewSnapshotReader(b.id, f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	l := loader.New(image.Empty(), loader.Options{})
	b.Records = 0
	err = l.LoadSnapshot(b.id.EndOffset, b.id.Epoch, r.LastContainedLogTimestamp(), func() (recordbatch.Batch, error) {
		batch, err := r.Next()
		b.Records += int(batch.Count)
		return batch, err
	})
	return l.Image(), err
}

// coldLoad is the first load of the process.
func (b *bench) coldLoad() error {
	info, err := os.Stat(b.file)
	if err != nil {
		return err
	}
	b.Bytes = info.Size()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	b.image, err = b.loadImage()
	b.ColdLoadMs = milliseconds(time.Since(start))
	if err != nil {
		return err
	}
	b.PeakRssBytes = peakRSS()
	runtime.ReadMemStats(&after)
	b.AllocsPerRecord = float64(after.Mallocs-before.Mallocs) / float64(b.Records)
	b.HeapBytes = liveHeap() - before.HeapAlloc
	return nil
}

// load is later ones, of the same process.
func (b *bench) load() (err error) {
	var times []time.Duration
	for range b.runs {
		b.image = nil
		runtime.GC()
		start := time.Now()
		if b.image, err = b.loadImage(); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	b.LoadMs = milliseconds(median(times))
	return nil
}

// comeBack compares what the image writes with the file, record by record:
// packing must lose nothing.
func (b *bench) comeBack() error {
	f, err := os.Open(b.file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := metadatalog.NewSnapshotReader(b.id, f)
	if err != nil {
		return err
	}
	defer r.Close()
	file := &fileRecords{reader: r}
	var frame []byte
	err = b.image.Write(func(m record.Message, _ int16) error {
		want, version, err := file.next()
		if err != nil {
			return err
		}
		// The file's version: its maker chose one, and the image the one that
		// the metadata.version asks for.
		if frame, err = record.AppendFrame(frame[:0], m, version); err != nil {
			return err
		}
		if !bytes.Equal(frame, want) {
			return fmt.Errorf("record %d, %s: the image has %x, the file %x", file.n, m.Type().RecordName(), frame, want)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, _, err := file.next(); err != io.EOF {
		return fmt.Errorf("the file has more than the %d records that the image writes", file.n)
	}
	b.RecordsComeBackSame = true
	return nil
}

// fileRecords reads the data records of a snapshot one by one.
type fileRecords struct {
	reader  *metadatalog.SnapshotReader
	batch   recordbatch.Batch
	decoder recordbatch.Decoder
	started bool
	n       int
}

func (f *fileRecords) next() (frame []byte, version int16, err error) {
	var r recordbatch.Record
	for !f.started || !f.decoder.Next(&r) {
		if f.started && f.decoder.Err() != nil {
			return nil, 0, f.decoder.Err()
		}
		if f.batch, err = f.reader.Next(); err != nil {
			return nil, 0, err
		}
		if err = f.decoder.Start(&f.batch); err != nil {
			return nil, 0, err
		}
		f.started = true
	}
	f.n++
	return r.Value, int16(r.Value[2]), nil // frame version, type, version: one byte each here
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func liveHeap() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peakRSS is the most memory that the process has had resident, in bytes; 0
// where the system does not tell.
func peakRSS() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseUint(kilobytes, 10, 64)
	if err != nil {
		return 0
	}
	return n * 1024
}
