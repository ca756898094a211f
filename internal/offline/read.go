package offline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/pipeline"
)

// replay is the replay of both logs.
type replay struct {
	*pipeline.Pipeline
	progress *cli.Progress
	newest   int64 // time of a record, in milliseconds since 1970
}

// run replays the groups first, and then the metadata: what a topic was like
// before is kept for those topics that a group is known to subscribe to.
// unread is what could not be read, while the rest was.
func (r *replay) run(ctx context.Context, f *found) (unread []error, err error) {
	if len(f.offsets) > 0 {
		var paths []string
		for _, p := range f.offsets {
			paths = append(paths, p.Dir)
		}
		err := offsetslog.ReadFiles(ctx, paths, offsetsSink{r.GroupsSink(), r})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		unread = flatten(err)
	}
	err = metadatalog.ReadDir(f.metadata.Dir, kafka.UnknownOffset, metadataSink{r.MetadataSink(), r})
	if err != nil && r.View().Image.Provenance().Offset < 0 {
		return nil, coded(err) // nothing is known, so there is nothing to answer
	}
	r.Finish()
	r.Tick(r.now())
	return append(unread, flatten(err)...), nil
}

// now is the time of the newest record, which is how late it is in the answers.
func (r *replay) now() time.Time { return time.UnixMilli(r.newest) }

func (r *replay) seen(bytes int, timestamp int64, what string) {
	r.newest = max(r.newest, timestamp)
	r.progress.Add(int64(bytes), what)
}

// metadataSink notes what passes.
type metadataSink struct {
	metadatalog.Sink
	replay *replay
}

func (m metadataSink) LoadSnapshot(s *metadatalog.SnapshotReader) error {
	m.replay.seen(0, s.LastContainedLogTimestamp(), kafka.MetadataTopic)
	return m.Sink.LoadSnapshot(s)
}

func (m metadataSink) Append(b *recordbatch.Batch) error {
	m.replay.seen(b.Size, b.MaxTimestamp, kafka.MetadataTopic)
	return m.Sink.Append(b)
}

// offsetsSink notes what passes.
type offsetsSink struct {
	offsetslog.Sink
	replay *replay
}

func (o offsetsSink) Append(b *offsetslog.Batch) error {
	o.replay.seen(b.Size(), b.MaxTimestamp(), logdir.PartitionName(kafka.OffsetsTopic, b.Partition))
	return o.Sink.Append(b)
}

// flatten lists the errors that were joined to one.
func flatten(err error) (all []error) {
	if err == nil {
		return nil
	}
	several, ok := err.(interface{ Unwrap() []error })
	if !ok || !strings.Contains(err.Error(), "\n") { // an error that wraps two others is one
		return []error{err}
	}
	for _, one := range several.Unwrap() {
		all = append(all, flatten(one)...)
	}
	return all
}

// sortOut tells damage, with its exit codes, from logs that end inside a batch:
// those were copied, or are read, while Kafka wrote them.
func sortOut(unread []error) (notes []string, damage error) {
	for _, err := range unread {
		var where *logdir.CorruptError
		if errors.Is(err, logdir.ErrWait) && errors.Is(err, recordbatch.ErrPartial) && errors.As(err, &where) {
			notes = append(notes, fmt.Sprintf("%v; the newest segment may end so while Kafka writes it", where))
			continue
		}
		damage = errors.Join(damage, coded(err))
	}
	return notes, damage
}

// coded gives an error of reading or replaying its exit code.
func coded(err error) error {
	var refused *loader.ReplayError
	var unreadable *logdir.PermissionError
	switch {
	case errors.Is(err, record.ErrUnknownType), errors.Is(err, record.ErrUnknownVersion):
		return cli.Errorf(cli.Failed, "%w; the answer is that of the records before it, a newer kraftside may know it", err)
	case errors.As(err, &refused):
		return cli.Errorf(cli.Corrupt, "%w; the answer is that of the records before it", err)
	case errors.As(err, &unreadable), errors.As(err, new(*os.PathError)):
		return cli.Errorf(cli.Failed, "%w", err)
	}
	return cli.Errorf(cli.Corrupt, "%w; the answer is that of what could be read", err)
}
