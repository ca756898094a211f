package telemetry

import (
	"cmp"
	"slices"
	"time"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/pipeline"
)

const (
	// maxGroups is how many groups a metric names.
	maxGroups = 50
	// bumpWindow and manyBumps are when a group rebalances so often that it is
	// named.
	bumpWindow = 15 * time.Minute
	manyBumps  = 5
)

// ofGroup is a value of one group.
type ofGroup struct {
	group string
	value float64
}

// rebalances reads those of the groups that this sidecar answers for.
func (r *reading) rebalances(v *pipeline.View) {
	now := r.meter.o.Now()
	open := make(map[groups.Type]int)
	var oldest float64
	var slow, often []ofGroup
	for g := range v.GroupsFrom("") {
		list := v.Rebalances(g.ID)
		if len(list) == 0 || !v.Answers(g) {
			continue
		}
		if newest := list[0]; newest.Open() {
			age := max(0, now.Sub(time.UnixMilli(newest.StartedAt)))
			open[newest.Type]++
			oldest = max(oldest, age.Seconds())
			if age >= r.meter.o.SlowAfter {
				slow = append(slow, ofGroup{g.ID, age.Seconds()})
			}
		}
		since, bumps := now.Add(-bumpWindow).UnixMilli(), 0
		for bumps < len(list) && list[bumps].StartedAt >= since {
			bumps++
		}
		if bumps >= manyBumps {
			often = append(often, ofGroup{g.ID, float64(bumps)})
		}
	}
	for kind := range states {
		r.set("kraftside.rebalances.open", float64(open[kind]), "type", kind.String())
	}
	r.set("kraftside.rebalances.oldest", oldest)
	r.setGroups("kraftside.rebalance.open", slow)
	r.setGroups("kraftside.group.bumps", often)
}

// setGroups gives a metric its values, of as many groups as it may name.
func (r *reading) setGroups(name string, all []ofGroup) {
	slices.SortStableFunc(all, func(a, b ofGroup) int { return cmp.Compare(b.value, a.value) })
	for _, one := range all[:min(len(all), maxGroups)] {
		r.set(name, one.value, "group", cli.Escape(one.group))
	}
}

// backlog reads what is yet to be exported.
func (r *reading) backlog(e *Exporter) {
	if e == nil {
		return
	}
	pending, oldest := e.backlogNow()
	r.set("kraftside.otlp.pending", float64(pending))
	r.set("kraftside.otlp.oldest", oldest.Seconds())
}
