package sidecar

import (
	"log/slog"

	"github.com/kraftside/kraftside/pipeline"
)

// transitions logs what changes for the better or the worse, once each time.
type transitions struct {
	metadata string
	groups   map[int32]string
	loading  map[int32]bool
}

// note compares a view with what was logged before.
func (t *transitions) note(log *slog.Logger, v *pipeline.View) {
	if t.groups == nil {
		t.groups, t.loading = map[int32]string{}, map[int32]bool{}
	}
	problem := ""
	switch {
	case v.Refused != nil:
		problem = v.Refused.Error()
	case v.Metadata.Problem != nil:
		problem = v.Metadata.Problem.Error()
	}
	if problem != t.metadata {
		t.metadata = problem
		report(log, "metadata log", problem, "offset", v.Image.Provenance().Offset)
	}
	for i := range v.Partitions {
		t.partition(log, &v.Partitions[i])
	}
}

func (t *transitions) partition(log *slog.Logger, p *pipeline.Partition) {
	problem := ""
	if p.Problem != nil {
		problem = p.Problem.Error()
	}
	if problem != t.groups[p.Partition] {
		t.groups[p.Partition] = problem
		report(log, "groups' log", problem, "partition", p.Partition, "offset", p.Next)
	}
	if was := t.loading[p.Partition]; was && !p.Loading {
		log.Info("groups loaded", "partition", p.Partition, "offset", p.Next, "bytes", p.Bytes)
	}
	t.loading[p.Partition] = p.Loading
}

func report(log *slog.Logger, what, problem string, args ...any) {
	if problem == "" {
		log.Info(what+" is read", args...)
		return
	}
	log.Warn(what+" cannot be read", append(args, "error", problem)...)
}
