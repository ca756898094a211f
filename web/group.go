package web

import (
	"errors"
	"net/http"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// group answers /v1/groups/{group}: by itself for a group that this sidecar
// speaks for, else with what the sidecar of the coordinator says.
func (s *Server) group(w http.ResponseWriter, r *http.Request) error {
	id, v := r.PathValue("group"), s.o.View()
	if g, ok := v.Group(id); ok && v.Answers(g) {
		writeJSON(w, http.StatusOK, api.NewGroup(v, g))
		return nil
	}
	home := homeOf(v, id)
	if home.Answers && home.Loading {
		return s.stillLoading(v, id, home.Partition)
	}
	l := lookup{coordinator: home.Coordinator}
	if !v.Assignment.Known {
		l.loading = api.NotKnown(v)
	}
	switch {
	case l.loading != "" && (home.Answers || isLocal(r)):
		return l.failure(id, nil)
	case home.Answers:
		return fail(http.StatusNotFound, codeNotFound, "no group %.300q", id)
	case isLocal(r):
		return fail(http.StatusNotFound, codeNotFound, "no group %.300q among those that this sidecar answers for", id)
	}
	missing := s.peers.ask(r, v, r.URL.EscapedPath(), nil, maxPageBytes).each(l.take)
	if l.best == nil {
		return l.failure(id, missing)
	}
	writeJSON(w, http.StatusOK, l.best.json)
	return nil
}

// homeOf is how the partition of __consumer_offsets stands that a group is in;
// of one that this sidecar does not follow, only the coordinator is known.
func homeOf(v *pipeline.View, group string) pipeline.Partition {
	topic, ok := v.Image.Topics().ByName(kafka.OffsetsTopic)
	if !ok || topic.NumPartitions() == 0 {
		return pipeline.Partition{Coordinator: kafka.NoNode, Answers: v.Scope == pipeline.All}
	}
	number := groups.PartitionFor(group, int32(topic.NumPartitions()))
	for _, p := range api.OffsetsPartitions(v) {
		if p.Partition == number {
			return p
		}
	}
	return pipeline.Partition{Coordinator: api.LeaderOf(v.Image, number)}
}

func (s *Server) stillLoading(v *pipeline.View, group string, partition int32) error {
	f := fail(http.StatusServiceUnavailable, codeLoading, "partition %d of %s, where group %.300q would be, is loading",
		partition, kafka.OffsetsTopic, group)
	for _, l := range api.NewLoading(v, s.o.Now()) {
		if l.Partition == partition {
			f.message += ": " + loadText(l.Percent, l.RemainingMs)
		}
	}
	return f
}

// lookup is the search for a group among the peers. The sidecar beside the
// coordinator, as far as we know it, has the last word; without that the
// newest answer has.
type lookup struct {
	coordinator kafka.NodeID
	best        *encodedGroup
	denied      bool   // by the sidecar that has to know
	loading     string // what one said that does not know yet
}

func (l *lookup) take(a answer) (more bool, err error) {
	more = a.peer.broker != l.coordinator
	if refused := (*refusal)(nil); errors.As(a.err, &refused) {
		switch refused.body.Code {
		case codeNotFound:
			l.denied = l.denied || !more
			return more, nil
		case codeLoading:
			l.loading = refused.body.Message
			return more, nil
		}
	}
	if a.err != nil {
		return true, a.err
	}
	g, err := parseGroup(a.body)
	if err != nil {
		return true, err
	}
	if l.best == nil || g.newer(*l.best) {
		l.best = &g
	}
	return more, nil
}

// failure is the answer if nobody has the group.
func (l *lookup) failure(id string, missing []api.Missing) error {
	switch {
	case l.denied:
	case l.loading != "":
		return fail(http.StatusServiceUnavailable, codeLoading, "%s", l.loading)
	case len(missing) > 0:
		f := fail(http.StatusServiceUnavailable, codeIncomplete,
			"no group %.300q where we could ask; sidecars that did not answer: %d", id, len(missing))
		f.missing = missing
		return f
	}
	return fail(http.StatusNotFound, codeNotFound, "no group %.300q", id)
}
