package telemetry

import (
	"runtime"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

// reading is one look at everything.
type reading struct {
	meter *Meter
	to    metric.Observer
}

// set gives a metric its value. labels are names and values in turn.
func (r *reading) set(name string, value float64, labels ...string) {
	pairs := make([]attribute.KeyValue, 0, len(labels)/2)
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, attribute.String(labels[i], labels[i+1]))
	}
	r.meter.gauges[name](r.to, value, pairs...)
}

func (r *reading) setBool(name string, value bool, labels ...string) {
	r.set(name, map[bool]float64{true: 1}[value], labels...)
}

// observe reads everything. All that comes from a view comes from the same.
func (m *Meter) observe(r *reading) {
	v := m.o.View()
	r.set("kraftside.build.info", 1, "version", m.o.Version, "goversion", runtime.Version())
	r.set("kraftside.cluster.info", 1, "cluster_id", m.o.ClusterID(), "node_id", nodeText(v.NodeID),
		"scope", string(v.Scope), "metadata_version", api.MetadataVersion(v.Image))
	r.setBool("kraftside.ready", m.o.Ready())
	r.set("kraftside.brokers", float64(v.Image.Cluster().NumBrokers()))
	r.metadata(v)
	r.groups(v)
	r.partitions(v)
	r.rebalances(v)
	if m.o.Exporter != nil {
		r.backlog(m.o.Exporter())
	}
	if m.o.AdminConnections != nil {
		r.set("kraftside.admin.connections", float64(m.o.AdminConnections()))
	}
	r.stats(m.o.Stats())
	if m.o.Store != nil {
		st := m.o.Store()
		r.set("kraftside.store", float64(st.Bytes))
		r.setBool("kraftside.store.persisting", st.Persisting)
	}
}

func nodeText(id kafka.NodeID) string {
	if id == kafka.NoNode {
		return ""
	}
	return strconv.Itoa(int(id))
}

var metadataProblems = []metadatalog.ProblemKind{
	metadatalog.Unreachable, metadatalog.NoLeader, metadatalog.WrongCluster, metadatalog.NotAuthorized,
	metadatalog.NotController, metadatalog.BadAnswer, metadatalog.Corrupt, metadatalog.SnapshotFailed, metadatalog.Diverged,
	metadatalog.Unreadable,
}

func (r *reading) metadata(v *pipeline.View) {
	at := v.Image.Provenance().Offset
	if at >= 0 {
		r.set("kraftside.metadata.offset", float64(at))
	}
	if hw := v.Metadata.HighWatermark; hw >= 0 {
		r.set("kraftside.metadata.high_watermark", float64(hw))
		r.set("kraftside.metadata.lag.offsets", float64(v.Metadata.Lag()))
	}
	if lag, ok := api.MetadataLag(v, r.meter.o.Now()); ok {
		r.set("kraftside.metadata.lag", lag.Seconds())
	}
	if r.meter.o.BrokerApplied != nil {
		if applied, ok := r.meter.o.BrokerApplied(); ok && at >= 0 {
			r.set("kraftside.metadata.broker_lag.offsets", float64(at-applied))
		}
	}
	for _, kind := range metadataProblems {
		p := v.Metadata.Problem
		r.setBool("kraftside.metadata.problem", p != nil && p.Kind == kind, "kind", string(kind))
	}
	r.setBool("kraftside.metadata.problem", v.Refused != nil, "kind", "refused")
}

// What a group can be: every combination has a series, so that an alert on
// one that never happened does not find nothing.
var (
	states = map[groups.Type][]groups.State{
		groups.Classic:  {groups.Empty, groups.Stable},
		groups.Consumer: {groups.Empty, groups.Assigning, groups.Reconciling, groups.Stable},
		groups.Share:    {groups.Empty, groups.Stable},
		groups.Streams:  {groups.Empty, groups.NotReady, groups.Assigning, groups.Reconciling, groups.Stable},
	}
	verdicts = []topichash.Verdict{
		topichash.Match, topichash.Pending, topichash.Stale, topichash.Unknown, topichash.None, topichash.Drift,
	}
)

func (r *reading) groups(v *pipeline.View) {
	type stated struct {
		kind  groups.Type
		state groups.State
	}
	type judged struct {
		kind    groups.Type
		verdict topichash.Verdict
	}
	byState, byVerdict := make(map[stated]int), make(map[judged]int)
	for g := range v.GroupsFrom("") {
		if v.Answers(g) {
			byState[stated{g.Type, g.State}]++
			byVerdict[judged{g.Type, g.Answer.Verdict}]++
		}
	}
	for kind, of := range states {
		for _, state := range of {
			r.set("kraftside.groups", float64(byState[stated{kind, state}]), "type", kind.String(), "state", string(state))
		}
		for _, verdict := range verdicts {
			r.set("kraftside.group.verdicts", float64(byVerdict[judged{kind, verdict}]), "type", kind.String(), "verdict", string(verdict))
		}
	}
}

var groupsProblems = []offsetslog.ProblemKind{
	offsetslog.Unreachable, offsetslog.NoLeader, offsetslog.WrongCluster, offsetslog.NotAuthorized,
	offsetslog.BadAnswer, offsetslog.Corrupt, offsetslog.Unreadable,
}

func (r *reading) partitions(v *pipeline.View) {
	var answers, loading, unreadable int
	var lag int64
	problems := make(map[offsetslog.ProblemKind]int)
	var anomalies groups.Anomalies
	all := api.OffsetsPartitions(v)
	for i := range all {
		p := &all[i]
		if p.Answers {
			answers++
		}
		if p.Loading {
			loading++
		}
		if p.Problem != nil {
			problems[p.Problem.Kind]++
		}
		lag += max(p.Lag(), 0)
		unreadable += p.Unreadable
		for kind, n := range p.Anomalies.Counts {
			anomalies.Counts[kind] += n
		}
	}
	r.set("kraftside.offsets.partitions", float64(answers), "role", api.RoleAnswers)
	r.set("kraftside.offsets.partitions", float64(len(all)-answers), "role", api.RoleFollows)
	r.set("kraftside.offsets.partitions.loading", float64(loading))
	r.set("kraftside.offsets.lag.offsets", float64(lag))
	r.set("kraftside.offsets.unreadable.batches", float64(unreadable))
	for _, kind := range groupsProblems {
		r.set("kraftside.offsets.partitions.problem", float64(problems[kind]), "kind", string(kind))
	}
	for kind, n := range anomalies.Counts {
		r.set("kraftside.group.anomalies", float64(n), "kind", groups.AnomalyKind(kind).String())
	}
}

func (r *reading) stats(s pipeline.Stats) {
	r.set("kraftside.records", float64(s.MetadataRecords), "log", "metadata")
	r.set("kraftside.records", float64(s.GroupRecords), "log", "offsets")
	r.set("kraftside.metadata.records.skipped", float64(s.SkippedRecords))
	r.set("kraftside.metadata.unknown_tags", float64(s.UnknownTags))
	r.set("kraftside.topic_hash.cached", float64(s.CachedTopics))
	r.set("kraftside.topic_hash.hits", float64(s.Cache.Hits))
	r.set("kraftside.topic_hash.evictions", float64(s.Cache.Evictions))
	r.set("kraftside.topic_hash.recomputations", float64(s.Cache.Misses))
}
