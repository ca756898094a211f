//go:build e2e && unix

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
)

// sample is what a sidecar showed of a group for some time.
type sample struct {
	at       time.Time
	epoch    int32
	answer   topichash.Answer
	hasHash  bool
	stored   int64
	record   kafka.Offset // that stored the hash
	metadata kafka.Offset
	view     *pipeline.View
}

func (s sample) String() string {
	verdict := string(s.answer.Verdict)
	if s.answer.Reason != "" {
		verdict += "(" + s.answer.Reason + ")"
	}
	stored := "-"
	if s.hasHash {
		stored = fmt.Sprint(s.stored)
	}
	return fmt.Sprintf("%s epoch %d %s stored %s computed %d at metadata offset %d",
		s.at.Format("15:04:05.000"), s.epoch, verdict, stored, s.answer.Computed, s.metadata)
}

// same says whether nothing that matters changed.
func (s sample) same(o sample) bool {
	return s.epoch == o.epoch && s.answer.Verdict == o.answer.Verdict && s.answer.Reason == o.answer.Reason &&
		s.answer.Computed == o.answer.Computed && s.hasHash == o.hasHash && s.stored == o.stored && s.record == o.record
}

// watch samples a sidecar's view, so that no verdict of it passes unseen but
// those that last less than watchInterval.
type watch struct {
	view func() *pipeline.View
	done chan struct{}
	wait sync.WaitGroup

	mu      sync.Mutex
	samples map[string][]sample
	gone    map[string]bool
	hidden  int // views that hid groups of a partition
	drifts  []string
}

const watchInterval = 3 * time.Millisecond

func watchView(view func() *pipeline.View) *watch {
	w := &watch{view: view, done: make(chan struct{}), samples: map[string][]sample{}, gone: map[string]bool{}}
	w.wait.Go(w.run)
	return w
}

func (w *watch) stop() {
	close(w.done)
	w.wait.Wait()
}

func (w *watch) run() {
	var last *pipeline.View
	for {
		if v := w.view(); v != last {
			last = v
			w.look(v)
		}
		select {
		case <-w.done:
			return
		case <-time.After(watchInterval):
		}
	}
}

func (w *watch) look(v *pipeline.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range v.Partitions {
		if p.Hidden {
			w.hidden++
		}
	}
	seen := map[string]bool{}
	for g := range v.GroupsFrom("") {
		seen[g.ID] = true
		w.take(v, g)
	}
	for id := range w.samples {
		w.gone[id] = !seen[id]
	}
}

func (w *watch) take(v *pipeline.View, g *pipeline.Group) {
	s := sample{at: time.Now(), epoch: g.Epoch, answer: g.Answer, metadata: v.Image.Provenance().Offset, view: v}
	if g.Hash != nil {
		s.hasHash, s.stored, s.record = true, g.Hash.Value, g.Hash.Offset
	}
	old := w.samples[g.ID]
	if len(old) > 0 && old[len(old)-1].same(s) {
		return
	}
	if s.answer.Verdict == topichash.Drift {
		w.drifts = append(w.drifts, g.ID+" "+s.String())
	}
	w.samples[g.ID] = append(old, s)
}

// mark is a moment in the samples of a group.
type mark int

// now is the moment after the newest sample, which is still true.
func (w *watch) now(group string) mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mark(max(0, len(w.samples[group])-1))
}

// since returns what the group was like since a moment, and then.
func (w *watch) since(group string, m mark) []sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.samples[group][min(int(m), len(w.samples[group])):])
}

// newest returns what the group is like; false if it is not shown.
func (w *watch) newest(group string) (sample, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.samples[group]
	if len(all) == 0 || w.gone[group] {
		return sample{}, false
	}
	return all[len(all)-1], true
}

// text is the samples since a moment, a line each.
func (w *watch) text(group string, m mark) string {
	var b strings.Builder
	for _, s := range w.since(group, m) {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String()
}

// drifted lists every drift that was seen: there must be none.
func (w *watch) drifted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.drifts)
}

// hides counts the views that hid groups because their partition was loading.
func (w *watch) hides() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hidden
}

// verdicts are the verdicts of samples, each run of the same one once.
func verdicts(all []sample) []topichash.Verdict {
	var out []topichash.Verdict
	for _, s := range all {
		out = append(out, s.answer.Verdict)
	}
	return slices.Compact(out)
}
