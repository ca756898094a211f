package web

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/web/api"
)

const (
	defaultLast = 10
	maxLast     = 1000
)

// wanted selects rebalances of a group.
type wanted struct {
	last  int
	since int64 // milliseconds since 1970
	epoch int32 // -1: any
	bytes int
}

func parseWanted(q url.Values) (w wanted, err error) {
	w.epoch = -1
	if w.last, err = positive(q, "last", defaultLast, maxLast); err != nil {
		return w, err
	}
	if w.bytes, err = positive(q, "bytes", maxPageBytes, maxPageBytes); err != nil {
		return w, err
	}
	if q.Get("since") != "" {
		if w.since, err = parseSince(q); err != nil {
			return w, err
		}
		w.last = maxLast
	}
	if text := q.Get("epoch"); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n > math.MaxInt32 {
			return w, fail(http.StatusBadRequest, codeBadRequest, "epoch: %.40q is not an epoch", text)
		}
		w.epoch = int32(n)
	}
	return w, nil
}

// parseSince reads a time, 0 if there is none.
func parseSince(q url.Values) (ms int64, err error) {
	text := q.Get("since")
	if text == "" {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fail(http.StatusBadRequest, codeBadRequest, "since: %.40q is not a time as in 2006-01-02T15:04:05Z", text)
	}
	return at.UnixMilli(), nil
}

func (w *wanted) has(r *rebalance.Rebalance) bool {
	return r.StartedAt >= w.since && (w.epoch < 0 || w.epoch == r.Epoch)
}

// own are the rebalances that this sidecar holds, newest first, as many as are
// wanted and as fit, and at least one.
func (w *wanted) own(v *pipeline.View, group string) ([]api.Rebalance, error) {
	list, bytes := []api.Rebalance{}, 0
	for _, r := range v.Rebalances(group) {
		if !w.has(r) {
			continue
		}
		one := api.NewRebalance(v, r)
		encoded, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		bytes += len(encoded)
		if len(list) == w.last || len(list) > 0 && bytes > w.bytes {
			break
		}
		list = append(list, one)
	}
	return list, nil
}

// rebalances answers /v1/groups/{group}/rebalances. Whoever follows the
// group's partition may hold some, and the coordinator may have moved, so that
// all are asked.
func (s *Server) rebalances(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	which, err := parseWanted(q)
	if err != nil {
		return err
	}
	id, v := r.PathValue("group"), s.o.View()
	asked := s.peers.ask(r, v, r.URL.EscapedPath(), q, which.bytes)
	own, err := which.own(v, id)
	if err != nil {
		return err
	}
	_, exists := v.Group(id)
	out := api.Rebalances{Group: id, Exists: exists, Completeness: api.NewCompleteness(v, s.o.Now())}
	lists := [][]api.Rebalance{own}
	missing := asked.parsed(func(a answer) error {
		var part api.Rebalances
		if err := json.Unmarshal(a.body, &part); err != nil {
			return err
		}
		lists = append(lists, part.Rebalances)
		out.Exists = out.Exists || part.Exists
		out.Add(part.Completeness)
		return nil
	})
	out.Add(api.Completeness{Missing: missing})
	out.Rebalances = api.JoinRebalances(lists...)
	out.Rebalances = out.Rebalances[:min(len(out.Rebalances), which.last)]
	out.Gaps = api.FindGaps(out.Rebalances)
	if !isLocal(r) {
		s.peers.addUncovered(v, &out.Completeness)
		if !out.Exists && len(out.Rebalances) == 0 {
			return unknownGroup(&out)
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// unknownGroup is the answer if nobody has the group: whoever did not answer
// may.
func unknownGroup(a *api.Rebalances) error {
	if len(a.Missing)+len(a.Loading) == 0 {
		return fail(http.StatusNotFound, codeNotFound, "no group %.300q", a.Group)
	}
	f := fail(http.StatusServiceUnavailable, codeIncomplete,
		"no group %.300q where we could ask; sidecars that did not answer: %d, partitions that are loading: %d",
		a.Group, len(a.Missing), len(a.Loading))
	f.missing = a.Missing
	return f
}
