package web

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// changesWanted is what a request wants of the changes of the metadata.
type changesWanted struct {
	page
	newest kafka.Offset // the entry to begin with, or the next older one
	since  int64        // milliseconds since 1970
	topic  string       // empty: any
}

func parseChangesWanted(q url.Values) (w changesWanted, err error) {
	w.newest, w.topic = math.MaxInt64, q.Get("topic")
	if w.page, err = parsePage(q); err != nil {
		return w, err
	}
	if w.since, err = parseSince(q); err != nil {
		return w, err
	}
	if w.begun {
		last, err := strconv.ParseInt(w.after, 10, 64)
		if err != nil || last < 0 || strconv.FormatInt(last, 10) != w.after {
			return w, fail(http.StatusBadRequest, codeBadRequest, "after: %v", errBadToken)
		}
		w.newest = kafka.Offset(last - 1)
	}
	return w, nil
}

// changePart is one sidecar's part of a page of changes.
type changePart struct {
	list []api.Change // newest first
	more bool
}

// own are the changes that this sidecar holds, as many as fit.
func (w *changesWanted) own(v *pipeline.View) (out changePart, err error) {
	setOffs, about, bytes := api.NewSetOffs(v, nil), w.about(v), 0
	for e := range v.Changes(w.newest) {
		if e.Time < w.since {
			continue // clocks of controllers differ
		}
		if !about(e) && !setOffs.Topic(e, w.topic) {
			continue
		}
		if len(out.list) == w.limit || bytes >= w.bytes {
			out.more = true
			break
		}
		c := api.NewChange(e)
		c.Rebalances = setOffs.By(e)
		encoded, err := json.Marshal(c)
		if err != nil {
			return out, err
		}
		bytes += len(encoded)
		out.list = append(out.list, c)
	}
	return out, nil
}

// about says which entries are about the topic that is asked for: those that
// name it, and those that moved a broker which has replicas of it.
func (w *changesWanted) about(v *pipeline.View) func(*history.Entry) bool {
	if w.topic == "" {
		return func(*history.Entry) bool { return true }
	}
	brokers := make(map[kafka.NodeID]bool)
	if t, ok := v.Image.Topics().ByName(w.topic); ok {
		for _, p := range t.Partitions() {
			for _, id := range p.Replicas {
				brokers[id] = true
			}
		}
	}
	return func(e *history.Entry) bool {
		return slices.ContainsFunc(e.Changes, func(c delta.Change) bool {
			return c.Topic == w.topic || c.Topic == "" && brokers[c.Broker] && !slices.Equal(c.RacksBefore, c.RacksAfter)
		})
	}
}

// joinChanges makes one page of everybody's part. It ends where a part ends
// that has more.
func joinChanges(parts []changePart, limit int) (list []api.Change, more bool) {
	var lists [][]api.Change
	for _, part := range parts {
		lists = append(lists, part.list)
	}
	list = api.JoinChanges(lists...)
	for _, part := range parts {
		if n := len(part.list); part.more && n > 0 {
			last := part.list[n-1].Offset
			list, more = slices.DeleteFunc(list, func(c api.Change) bool { return c.Offset < last }), true
		}
	}
	if len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more
}

// changes answers /v1/changes.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	which, err := parseChangesWanted(q)
	if err != nil {
		return err
	}
	v := s.o.View()
	asked := s.peers.ask(r, v, r.URL.EscapedPath(), q, which.bytes)
	own, err := which.own(v)
	if err != nil {
		return err
	}
	out := api.ChangeList{Completeness: api.NewCompleteness(v, s.o.Now())}
	parts := []changePart{own}
	missing := asked.parsed(func(a answer) error {
		var part api.ChangeList
		if err := json.Unmarshal(a.body, &part); err != nil {
			return err
		}
		if part.Next != "" && len(part.Changes) == 0 {
			return errEmpty
		}
		parts = append(parts, changePart{part.Changes, part.Next != ""})
		out.Add(part.Completeness)
		return nil
	})
	out.Add(api.Completeness{Missing: missing})
	var more bool
	if out.Changes, more = joinChanges(parts, which.limit); more {
		out.Next = newToken(strconv.FormatInt(int64(out.Changes[len(out.Changes)-1].Offset), 10))
	}
	if !isLocal(r) {
		s.peers.addUncovered(v, &out.Completeness)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
