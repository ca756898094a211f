package check

import (
	"maps"
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// groupLog replays the log of the group coordinator.
type groupLog struct {
	log       *partition
	shard     *groups.Shard
	decoder   recordbatch.Decoder
	anomalies map[groups.AnomalyKind]*Anomalies
	open      map[int64]kafka.Offset // transactions by producer: the first record
}

func newGroups(log *partition) *groupLog {
	return &groupLog{
		log:       log,
		shard:     groups.NewShard(max(0, log.Number), groups.Options{}),
		anomalies: make(map[groups.AnomalyKind]*Anomalies),
		open:      make(map[int64]kafka.Offset),
	}
}

// batch implements replayer.
func (g *groupLog) batch(b *recordbatch.Batch, at place) {
	entries := offsetslog.NewBatch(g.shard.Partition(), b, &g.decoder)
	var e offsetslog.Entry
	for entries.Read(&e) {
		if e.End != offsetslog.NoEnd {
			g.shard.EndTransaction(e.ProducerID, e.End == offsetslog.Commit)
			delete(g.open, e.ProducerID)
			continue
		}
		if _, begun := g.open[e.ProducerID]; e.ProducerID >= 0 && !begun {
			g.open[e.ProducerID] = e.Offset
		}
		if a := g.shard.Replay(&e.Record).Anomaly; a != nil {
			g.anomaly(a, at)
		}
	}
	if err := entries.Err(); err != nil {
		g.log.report.add(at.finding(Damage, b.BaseOffset, err.Error()))
	}
}

// anomaly counts one. A record that is not what its type and version say is
// damage.
func (g *groupLog) anomaly(a *groups.Anomaly, at place) {
	if a.Kind == groups.UndecodableKey || a.Kind == groups.UndecodableValue {
		g.log.report.add(at.finding(Damage, a.Offset, a.Reason))
		return
	}
	of := g.anomalies[a.Kind]
	if of == nil {
		of = &Anomalies{Kind: a.Kind.String()}
		g.anomalies[a.Kind] = of
	}
	of.Count++
	if len(of.First) < maxAnomalies {
		of.First = append(of.First, Anomaly{Offset: a.Offset, Group: a.Group, Reason: a.Reason})
	}
}

// end implements replayer.
func (g *groupLog) end() {
	report := g.log.report
	report.Groups = make(map[string]int)
	for _, id := range g.shard.GroupIDs() {
		report.Groups[g.shard.Freeze(id).Type.String()]++
	}
	for _, kind := range slices.Sorted(maps.Keys(g.anomalies)) {
		report.Anomalies = append(report.Anomalies, *g.anomalies[kind])
	}
	for _, offset := range slices.Sorted(maps.Values(g.open)) {
		report.add(Finding{Kind: Note, Offset: &offset, Summary: "a transaction begins there and is open at the end of the log"})
	}
}
