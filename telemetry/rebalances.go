package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// RebalanceOptions configure Rebalances.
type RebalanceOptions struct {
	Meter *Meter
	Log   *slog.Logger
	// Answers says whether this sidecar speaks for a partition of
	// __consumer_offsets: each rebalance is told by one sidecar.
	Answers func(partition int32) bool
	// MaxAge is how old a rebalance may be when it is first seen: what is read
	// from the start of a log is history. 0 has no limit.
	MaxAge time.Duration
	// SlowAfter is how long a rebalance lasts that has a second line, when it
	// is completed.
	SlowAfter time.Duration
	// Now is time.Now if nil.
	Now func() time.Time
}

// Rebalances counts rebalances as they happen, and writes a line for each: when
// its causes are settled, and another one if it was open then, and for long.
// Its methods belong to the pipeline's turn.
type Rebalances struct {
	o     RebalanceOptions
	known map[position]*progress
	order []position // of known, oldest first
}

// position is the record of a bump. The cluster's id may come later, and is the
// same for all.
type position struct {
	topic     kafka.TopicID
	partition int32
	offset    kafka.Offset
}

// progress is what was told of a rebalance.
type progress struct {
	ignored                   bool // another sidecar tells of it
	settled, counted, slowOut bool
}

// maxKnown is how many rebalances are remembered, so that none is told twice.
const maxKnown = 10_000

// NewRebalances returns what to give to the pipeline as OnRebalance.
func NewRebalances(o RebalanceOptions) *Rebalances {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Rebalances{o: o, known: make(map[position]*progress)}
}

// OnRebalance takes the next state of a rebalance.
func (t *Rebalances) OnRebalance(r *rebalance.Rebalance) {
	p := t.progressOf(r)
	if p == nil || p.ignored {
		return
	}
	if r.CompletedAt > 0 && !p.counted {
		p.counted = true
		t.o.Meter.durations.Record(context.Background(), float64(max(0, r.CompletedAt-r.StartedAt))/1000,
			metric.WithAttributes(attribute.String("type", r.Type.String())))
	}
	switch {
	case r.Settled && !p.settled:
		p.settled, p.slowOut = true, !r.Open()
		t.settled(r)
	case p.settled && !p.slowOut && !r.Open():
		p.slowOut = true
		t.over(r)
	}
}

// progressOf is what was told of a rebalance, nil of one that is history.
// Whether it is to be told is decided when it is first seen.
func (t *Rebalances) progressOf(r *rebalance.Rebalance) *progress {
	at := position{r.ID.TopicID, r.ID.Partition, r.ID.Offset}
	if p := t.known[at]; p != nil {
		return p
	}
	if t.o.MaxAge > 0 && t.o.Now().Sub(time.UnixMilli(r.StartedAt)) > t.o.MaxAge {
		return nil
	}
	// What has causes when it is first seen was told of before a restart.
	p := &progress{ignored: !t.o.Answers(r.ID.Partition), settled: r.Settled}
	t.known[at] = p
	t.order = append(t.order, at)
	if len(t.order) > maxKnown {
		delete(t.known, t.order[0])
		t.order = t.order[1:]
	}
	return p
}

// settled tells of a rebalance whose causes are known.
func (t *Rebalances) settled(r *rebalance.Rebalance) {
	kind := rebalance.Unknown
	args := t.names(r)
	if len(r.Causes) > 0 {
		first := &r.Causes[0]
		kind = first.Kind
		args = append(args, "why", cli.Escape(first.Summary), "confidence", string(first.Confidence))
		if first.Trigger != nil {
			args = append(args, "set.off", cli.Escape(first.Trigger.Summary))
		}
		if n := len(sentences(r)) - 1 + r.MoreCauses; n > 0 {
			args = append(args, "more.causes", n)
		}
	}
	t.o.Meter.rebalances.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("type", r.Type.String()), attribute.String("cause", string(kind))))
	t.o.Log.Info("rebalance", append(args, t.outcome(r)...)...)
}

// over tells that a rebalance is over that was open when it was told of, if
// that took long.
func (t *Rebalances) over(r *rebalance.Rebalance) {
	if r.CompletedAt > 0 && time.Duration(r.CompletedAt-r.StartedAt)*time.Millisecond < t.o.SlowAfter {
		return
	}
	t.o.Log.Info("rebalance is over", append(t.names(r), t.outcome(r)...)...)
}

func (t *Rebalances) names(r *rebalance.Rebalance) []any {
	return []any{"group", cli.Escape(r.Group), "type", r.Type.String(), "epoch", r.Epoch, "started", timestamp(r.StartedAt)}
}

func (t *Rebalances) outcome(r *rebalance.Rebalance) []any {
	switch {
	case r.CompletedAt > 0:
		return []any{"took", time.Duration(r.CompletedAt-r.StartedAt) * time.Millisecond}
	case r.SupersededBy > 0:
		return []any{"superseded.by", r.SupersededBy}
	}
	return []any{"open", true}
}
