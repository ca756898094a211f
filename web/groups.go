package web

import (
	"net/http"
	"net/url"

	"github.com/kraftside/kraftside/web/api"
)

// groups answers /v1/groups.
func (s *Server) groups(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	filter, err := api.ParseFilter(q.Get("verdict"), q.Get("type"), q.Get("state"), q.Get("match"))
	if err != nil {
		return fail(http.StatusBadRequest, codeBadRequest, "%v", err)
	}
	return s.listGroups(w, r, q, filter)
}

// verify answers /v1/verify.
func (s *Server) verify(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	return s.listGroups(w, r, q, api.Disagreeing())
}

func (s *Server) listGroups(w http.ResponseWriter, r *http.Request, q url.Values, filter *api.Filter) error {
	p, err := parsePage(q)
	if err != nil {
		return err
	}
	v := s.o.View()
	asked := s.peers.ask(r, v, r.URL.EscapedPath(), q, p.bytes)
	own, err := ownGroups(v, filter, p)
	if err != nil {
		return err
	}
	own.Completeness = api.NewCompleteness(v, s.o.Now())
	parts := []*groupList{own}
	missing := asked.parsed(func(a answer) error {
		part, err := parseGroups(a.body, p)
		if err == nil {
			parts = append(parts, part)
		}
		return err
	})
	merged := mergeGroups(parts, p)
	merged.Add(api.Completeness{Missing: missing})
	if !isLocal(r) {
		s.peers.addUncovered(v, &merged.Completeness)
	}
	writeJSON(w, http.StatusOK, merged.encoded())
	return nil
}
