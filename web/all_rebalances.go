package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/web/api"
)

// place is where a rebalance stands in the list of all of them, which is newest
// first.
type place struct {
	startedAt int64
	epoch     int32
	id        string
}

// compare is negative if p comes first.
func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(o.startedAt, p.startedAt), cmp.Compare(o.epoch, p.epoch), cmp.Compare(o.id, p.id))
}

func placeOf(r *api.Rebalance) place { return place{int64(r.StartedAt), r.Epoch, r.ID} }

// String is the name in a token.
func (p place) String() string { return fmt.Sprintf("%d/%d/%s", p.startedAt, p.epoch, p.id) }

func parsePlace(text string) (p place, err error) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 {
		return p, errBadToken
	}
	startedAt, bad := strconv.ParseInt(parts[0], 10, 64)
	epoch, worse := strconv.ParseInt(parts[1], 10, 32)
	p = place{startedAt, int32(epoch), parts[2]}
	if bad != nil || worse != nil || p.String() != text {
		return p, errBadToken
	}
	return p, nil
}

// period is what a request wants of all rebalances.
type period struct {
	page
	from  place // the place to begin after, if begun
	since int64 // milliseconds since 1970
}

func parsePeriod(q url.Values) (p period, err error) {
	if p.page, err = parsePage(q); err != nil {
		return p, err
	}
	if p.since, err = parseSince(q); err != nil {
		return p, err
	}
	if p.begun {
		if p.from, err = parsePlace(p.after); err != nil {
			return p, fail(http.StatusBadRequest, codeBadRequest, "after: %v", err)
		}
	}
	return p, nil
}

// rebalancePart is one sidecar's part of a page of rebalances.
type rebalancePart struct {
	list []api.Rebalance // newest first
	more bool
}

// own are the rebalances that this sidecar holds, as many as fit.
func (p *period) own(v *pipeline.View) (out rebalancePart, err error) {
	var held []*rebalance.Rebalance
	for r := range v.AllRebalances() {
		if r.StartedAt >= p.since && (!p.begun || r.StartedAt <= p.from.startedAt) {
			held = append(held, r)
		}
	}
	slices.SortFunc(held, func(a, b *rebalance.Rebalance) int {
		return cmp.Or(cmp.Compare(b.StartedAt, a.StartedAt), cmp.Compare(b.Epoch, a.Epoch), cmp.Compare(b.ID.String(), a.ID.String()))
	})
	bytes := 0
	for _, r := range held {
		one := api.NewRebalance(v, r)
		if p.begun && p.from.compare(placeOf(&one)) >= 0 {
			continue
		}
		if len(out.list) == p.limit || bytes >= p.bytes {
			out.more = true
			return out, nil
		}
		encoded, err := json.Marshal(one)
		if err != nil {
			return out, err
		}
		bytes += len(encoded)
		out.list = append(out.list, one)
	}
	return out, nil
}

// joinRebalances makes one page of everybody's part. It ends where a part ends
// that has more.
func joinRebalances(parts []rebalancePart, limit int) (list []api.Rebalance, more bool) {
	var lists [][]api.Rebalance
	for _, part := range parts {
		lists = append(lists, part.list)
	}
	list = api.JoinRebalances(lists...)
	for _, part := range parts {
		if n := len(part.list); part.more && n > 0 {
			last := placeOf(&part.list[n-1])
			end, _ := slices.BinarySearchFunc(list, last, func(r api.Rebalance, p place) int { return placeOf(&r).compare(p) })
			list, more = list[:min(len(list), end+1)], true
		}
	}
	if len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more
}

// allRebalances answers /v1/rebalances: those of all groups, newest first.
func (s *Server) allRebalances(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	which, err := parsePeriod(q)
	if err != nil {
		return err
	}
	v := s.o.View()
	asked := s.peers.ask(r, v, r.URL.EscapedPath(), q, which.bytes)
	own, err := which.own(v)
	if err != nil {
		return err
	}
	out := api.RebalanceList{Completeness: api.NewCompleteness(v, s.o.Now())}
	parts := []rebalancePart{own}
	missing := asked.parsed(func(a answer) error {
		var part api.RebalanceList
		if err := json.Unmarshal(a.body, &part); err != nil {
			return err
		}
		if part.Next != "" && len(part.Rebalances) == 0 {
			return errEmpty
		}
		parts = append(parts, rebalancePart{part.Rebalances, part.Next != ""})
		out.Add(part.Completeness)
		return nil
	})
	out.Add(api.Completeness{Missing: missing})
	var more bool
	if out.Rebalances, more = joinRebalances(parts, which.limit); more {
		out.Next = newToken(placeOf(&out.Rebalances[len(out.Rebalances)-1]).String())
	}
	if !isLocal(r) {
		s.peers.addUncovered(v, &out.Completeness)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
