// Package dump prints the records of Kafka's internal logs and of metadata
// snapshots: for people, or as JSON in which each record is field for field
// what Kafka's DumpLogSegments prints of it.
//
// Secrets are hidden unless they are asked for: SCRAM keys, the values of
// sensitive configurations, and the bytes of records that might hold them. Its
// memory is that of a recordbatch.Reader, whatever the size of a file.
package dump

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/wire"
)

// Options say what is printed.
type Options struct {
	// Log is the log of files whose place does not tell; of a folder of
	// partitions, the one that is meant.
	Log logfile.Log
	// ShowSecrets prints secrets as they are.
	ShowSecrets bool
	// From and To are the first and the last offset that is printed. To is
	// kafka.UnknownOffset for no end. A snapshot has no offsets: under either
	// limit it is left out.
	From, To kafka.Offset
}

// Run prints the records of the files and folders, see logfile.Find. What is
// readable of a damaged file is printed, and then the next file; the damage is
// in the error, which has code cli.Corrupt. Notes go to out.Err.
func Run(out *cli.Output, paths []string, o Options) error {
	partitions, err := logfile.Find(paths, o.Log)
	if err != nil {
		return err
	}
	d := &dumper{Options: o, out: out, w: bufio.NewWriterSize(out.Out, 1<<16), form: newForm(out)}
	d.progress = newProgress(out, partitions)
	err = d.all(partitions)
	d.progress.Clear()
	if flushed := d.w.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return err
	}
	return d.verdict()
}

// newProgress is nil where the records themselves are to be seen passing by.
func newProgress(out *cli.Output, partitions []*logfile.Partition) *cli.Progress {
	if out.Terminal {
		return nil
	}
	total := int64(0)
	for _, p := range partitions {
		for _, f := range p.Files {
			total += f.Size
		}
	}
	return out.NewProgress(total)
}

// form is a way to print records.
type form interface {
	appendEntry(b []byte, f *source, e *entry) []byte
}

func newForm(out *cli.Output) form {
	switch out.Format {
	case cli.JSONFormat:
		return jsonForm{}
	case cli.YAMLFormat:
		return &yamlForm{}
	}
	return textForm{cli.NewText(out)}
}

// source is the file that is printed.
type source struct {
	partition *logfile.Partition
	file      *logfile.File
	several   bool // other partitions of the log are printed too
}

type dumper struct {
	Options
	out      *cli.Output
	w        *bufio.Writer
	form     form
	progress *cli.Progress
	batches  recordbatch.Decoder
	line     []byte
	files    int

	damage  []error
	failed  tally // records that are damaged
	unknown tally // records that are too new
}

// tally counts records of one kind.
type tally struct {
	count int64
	first string // where the first is
}

func (t *tally) add(f *source, e *entry) {
	if t.count++; t.count == 1 {
		t.first = fmt.Sprintf("%s of %s", place(f.file, e), f.file.Path)
	}
}

func place(f *logfile.File, e *entry) string {
	if f.Snapshot {
		return fmt.Sprintf("record %d", e.offset)
	}
	return fmt.Sprintf("offset %d", e.offset)
}

func (d *dumper) all(partitions []*logfile.Partition) error {
	logs := make(map[logfile.Log]int)
	for _, p := range partitions {
		logs[p.Log]++
	}
	for _, p := range partitions {
		if err := d.partition(p, logs[p.Log] > 1); err != nil {
			return err
		}
	}
	return nil
}

// partition prints the files of a partition. Only errors of the output come
// back from it.
func (d *dumper) partition(p *logfile.Partition, several bool) error {
	dec := &decoder{log: p.Log, secrets: wire.Secrets(d.ShowSecrets)}
	for i, f := range p.Files {
		if d.passes(p.Files, i) {
			d.progress.Add(f.Size, filepath.Base(f.Path))
			continue
		}
		err := d.file(&source{p, f, several}, dec)
		var damage *logdir.CorruptError
		switch {
		case errors.As(err, &damage):
			d.damage = append(d.damage, fmt.Errorf("%w; what stands before it was printed", damage))
		case err != nil:
			return err
		}
	}
	return nil
}

// passes says whether nothing of a file is between From and To, as far as its
// name and the next one tell.
func (d *dumper) passes(files []*logfile.File, i int) bool {
	f := files[i]
	if f.Snapshot {
		return d.From > 0 || d.To >= 0
	}
	if d.To >= 0 && f.Base > d.To {
		return true
	}
	return f.Base >= 0 && i+1 < len(files) && files[i+1].Base <= d.From
}

func (d *dumper) file(s *source, dec *decoder) error {
	r, err := s.file.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := d.heading(s); err != nil {
		return err
	}
	for at := int64(0); ; at = r.Position() {
		b, err := r.Next()
		d.progress.Add(r.Position()-at, filepath.Base(s.file.Path))
		if err == io.EOF {
			d.note(r.Unfinished())
			return nil
		}
		if err != nil {
			return err
		}
		if !s.file.Snapshot && b.LastOffset() < d.From {
			continue
		}
		if !s.file.Snapshot && d.To >= 0 && b.BaseOffset > d.To {
			return nil
		}
		if err := d.batch(s, dec, &b, at); err != nil {
			return err
		}
	}
}

// batch prints the records of a batch, which lies at byte position.
func (d *dumper) batch(s *source, dec *decoder, b *recordbatch.Batch, position int64) error {
	damage := func(err error) error {
		return &logdir.CorruptError{Path: s.file.Path, Position: position, Offset: b.BaseOffset, Err: err}
	}
	if err := d.batches.Start(b); err != nil {
		return damage(err)
	}
	var r recordbatch.Record
	var e entry
	for d.batches.Next(&r) {
		if !s.file.Snapshot && (r.Offset < d.From || d.To >= 0 && r.Offset > d.To) {
			continue
		}
		dec.decode(&b.Header, &r, &e)
		switch {
		case e.err != nil && e.unknown():
			d.unknown.add(s, &e)
		case e.err != nil:
			d.failed.add(s, &e)
		}
		d.line = d.form.appendEntry(d.line[:0], s, &e)
		if _, err := d.w.Write(d.line); err != nil {
			return err
		}
	}
	if err := d.batches.Err(); err != nil {
		return damage(err)
	}
	return nil
}

// heading says in text which file comes.
func (d *dumper) heading(s *source) error {
	t, ok := d.form.(textForm)
	if !ok {
		return nil
	}
	t.Reset()
	if d.files++; d.files > 1 {
		t.Printf("\n")
	}
	t.Printf("%s   %s\n", t.Bold(cli.Escape(s.file.Path)), describe(s))
	_, err := d.w.Write(t.Bytes())
	return err
}

func describe(s *source) string {
	f := s.file
	switch {
	case f.Bootstrap():
		return "what the cluster was formatted with"
	case f.Snapshot && f.EndOffset >= 0:
		return fmt.Sprintf("snapshot of the %s log up to offset %d, epoch %d", s.partition.Log, f.EndOffset-1, f.Epoch)
	case f.Snapshot:
		return fmt.Sprintf("snapshot of the %s log", s.partition.Log)
	}
	return fmt.Sprintf("segment of the %s log", s.partition.Log)
}

// note says something that is no error.
func (d *dumper) note(err error) {
	if err != nil {
		d.progress.Clear()
		fmt.Fprintf(d.out.Err, "kraftside: note: %s; the newest segment may end so while Kafka writes it\n", cli.Escape(err.Error()))
	}
}

// verdict is the error that the damage comes to, after what is to be noted.
func (d *dumper) verdict() error {
	if d.unknown.count > 0 {
		fmt.Fprintf(d.out.Err, "kraftside: note: %d records are of a type or a version that Kafka 4.0 to 4.4 do not have, the first at %s; a newer kraftside may know it\n",
			d.unknown.count, cli.Escape(d.unknown.first))
	}
	if d.failed.count > 0 {
		d.damage = append(d.damage, fmt.Errorf("%d records cannot be decoded, the first at %s; the rest was printed", d.failed.count, d.failed.first))
	}
	if len(d.damage) == 0 {
		return nil
	}
	return &cli.Error{Code: cli.Corrupt, Err: errors.Join(d.damage...)}
}
