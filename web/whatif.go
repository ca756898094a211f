package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/whatif"
)

// maxPlanBytes bounds the body of a request: some 50,000 partitions in new
// places.
const maxPlanBytes = 4 << 20

// whatif answers /v1/whatif: a list of changes, and the groups that they
// concern. Peers are asked the same, each for the groups that it speaks for.
func (s *Server) whatif(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	p, err := parsePage(q)
	if err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	v := s.o.View()
	plan, err := newPlan(v, body)
	if err != nil {
		return err
	}
	asked := s.peers.post(r, v, r.URL.EscapedPath(), q, p.bytes, body)
	own, err := ownPredictions(v, plan, p)
	if err != nil {
		return err
	}
	own.Completeness = api.NewCompleteness(v, s.o.Now())
	parts, examined := []*groupList{own}, api.NewExamined(v)
	missing := asked.parsed(func(a answer) error {
		part, err := parseGroups(a.body, p)
		var others struct{ Examined []api.Examined }
		if err == nil {
			err = json.Unmarshal(a.body, &others)
		}
		if err == nil {
			parts, examined = append(parts, part), api.JoinExamined(examined, others.Examined)
		}
		return err
	})
	merged := mergeGroups(parts, p)
	merged.Add(api.Completeness{Missing: missing})
	if !isLocal(r) {
		s.peers.addUncovered(v, &merged.Completeness)
	}
	page := merged.encoded()
	writeJSON(w, http.StatusOK, api.Whatif[json.RawMessage]{
		Groups: page.Groups, Examined: examined, Completeness: page.Completeness, Next: page.Next,
	})
	return nil
}

// readBody reads a request's body, as far as it may go.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPlanBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fail(http.StatusRequestEntityTooLarge, codeTooLarge, "the plan has more than %d bytes; ask for its parts", large.Limit)
	case err != nil:
		return nil, fail(http.StatusBadRequest, codeBadRequest, "read the plan: %v", err)
	}
	return body, nil
}

// newPlan reads changes and checks them against the image.
func newPlan(v *pipeline.View, body []byte) (*whatif.Plan, error) {
	if v.Image.Provenance().Offset == kafka.UnknownOffset {
		return nil, fail(http.StatusServiceUnavailable, codeLoading, "the metadata log is not read yet; see /readyz")
	}
	var changes []whatif.Change
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&changes); err != nil {
		return nil, fail(http.StatusBadRequest, codeBadRequest, "the body is not a list of changes: %v", err)
	}
	if in.More() {
		return nil, fail(http.StatusBadRequest, codeBadRequest, "there is something after the list of changes")
	}
	plan, err := whatif.NewPlan(v.Image, changes)
	switch {
	case errors.Is(err, whatif.ErrNotFound):
		return nil, fail(http.StatusNotFound, codeNotFound, "%v", err)
	case errors.Is(err, whatif.ErrTooLarge):
		return nil, fail(http.StatusRequestEntityTooLarge, codeTooLarge, "%v", err)
	case err != nil:
		return nil, fail(http.StatusBadRequest, codeBadRequest, "%v", err)
	}
	return plan, nil
}

// ownPredictions are those of the groups that v answers for, as many as a page
// has.
func ownPredictions(v *pipeline.View, plan *whatif.Plan, p page) (*groupList, error) {
	out, bytes := &groupList{}, 0
	for g := range v.GroupsFrom(p.after) {
		if p.begun && g.ID == p.after || !v.Answers(g) {
			continue
		}
		prediction, concerned := plan.Predict(whatif.Group{Group: g.Group, Partition: g.Partition, Answer: g.Answer})
		if !concerned {
			continue
		}
		if len(out.groups) == p.limit || bytes >= p.bytes {
			out.more = true
			break
		}
		one := api.NewPrediction(v, g, prediction)
		encoded, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		out.groups = append(out.groups, encodedGroup{id: g.ID, at: one.ReadAt, json: encoded})
		bytes += len(encoded)
	}
	return out, nil
}
