package web

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// groupList is one sidecar's part of a page of groups, or the whole page. It
// holds groups as they are to be written.
type groupList struct {
	groups []encodedGroup // by id
	more   bool           // there are others after the last
	api.Completeness
}

type encodedGroup struct {
	id   string
	at   api.ReadAt
	json json.RawMessage
}

// ownGroups are those that v answers for.
func ownGroups(v *pipeline.View, filter *api.Filter, p page) (*groupList, error) {
	out, bytes := &groupList{}, 0
	for g := range v.GroupsFrom(p.after) {
		if p.begun && g.ID == p.after || !v.Answers(g) || !filter.Selects(g) {
			continue
		}
		if len(out.groups) == p.limit || bytes >= p.bytes {
			out.more = true
			break
		}
		encoded, err := encodeGroup(v, g)
		if err != nil {
			return nil, err
		}
		out.groups = append(out.groups, encoded)
		bytes += len(encoded.json)
	}
	return out, nil
}

func encodeGroup(v *pipeline.View, g *pipeline.Group) (encodedGroup, error) {
	group := api.NewGroup(v, g)
	b, err := json.Marshal(group)
	return encodedGroup{id: g.ID, at: group.ReadAt, json: b}, err
}

var (
	errOrder = errors.New("bad answer: the groups are not in order")
	errEmpty = errors.New("bad answer: a page without groups that is not the last")
)

// parseGroups reads a peer's part of the page.
func parseGroups(body []byte, p page) (*groupList, error) {
	var parsed api.Groups[json.RawMessage]
	if err := json.Unmarshal(body, &parsed); err != nil {
		return nil, err
	}
	out := &groupList{more: parsed.Next != "", Completeness: parsed.Completeness}
	for _, raw := range parsed.Groups {
		g, err := parseGroup(raw)
		if err != nil {
			return nil, err
		}
		out.groups = append(out.groups, g)
	}
	first := p.begun && len(out.groups) > 0 && out.groups[0].id <= p.after
	if first || !slices.IsSortedFunc(out.groups, func(a, b encodedGroup) int { return strings.Compare(a.id, b.id) }) {
		return nil, errOrder
	}
	if out.more && len(out.groups) == 0 {
		return nil, errEmpty
	}
	return out, nil
}

func parseGroup(raw []byte) (encodedGroup, error) {
	var head struct {
		Group  string     `json:"group"`
		ReadAt api.ReadAt `json:"readAt"`
	}
	err := json.Unmarshal(raw, &head)
	return encodedGroup{id: head.Group, at: head.ReadAt, json: raw}, err
}

// mergeGroups makes one page of everybody's part. The page ends where a part
// does that has more: nothing is known of that sidecar's groups from there on.
func mergeGroups(parts []*groupList, p page) *groupList {
	out, bytes := &groupList{}, 0
	rest := make([][]encodedGroup, len(parts))
	for i, part := range parts {
		rest[i] = part.groups
		out.Add(part.Completeness)
	}
	for {
		for i, part := range parts {
			if len(rest[i]) == 0 && part.more {
				out.more = true
				return out
			}
		}
		best, found := takeFirst(rest)
		if !found {
			return out
		}
		if len(out.groups) == p.limit || bytes >= p.bytes {
			out.more = true
			return out
		}
		out.groups = append(out.groups, best)
		bytes += len(best.json)
	}
}

// takeFirst removes the first group by id from whoever has it, and returns the
// newest of what they say: while a coordinator moves, two sidecars may answer
// for it, or rather the one that has not heard of the move yet as well.
func takeFirst(rest [][]encodedGroup) (best encodedGroup, found bool) {
	for _, groups := range rest {
		if len(groups) > 0 && (!found || groups[0].id < best.id) {
			best, found = groups[0], true
		}
	}
	for i, groups := range rest {
		if len(groups) == 0 || groups[0].id != best.id {
			continue
		}
		if groups[0].newer(best) {
			best = groups[0]
		}
		rest[i] = groups[1:]
	}
	return best, found
}

// newer says whether g rests on more of the metadata log, or else of the
// group's own log, than h.
func (g *encodedGroup) newer(h encodedGroup) bool {
	a, b := offset(g.at.MetadataOffset), offset(h.at.MetadataOffset)
	return a > b || a == b && offset(g.at.Offset) > offset(h.at.Offset)
}

func offset(o *kafka.Offset) kafka.Offset {
	if o == nil {
		return kafka.UnknownOffset
	}
	return *o
}

// encoded is the page as an answer.
func (l *groupList) encoded() api.Groups[json.RawMessage] {
	out := api.Groups[json.RawMessage]{Groups: []json.RawMessage{}, Completeness: l.Completeness}
	for _, g := range l.groups {
		out.Groups = append(out.Groups, g.json)
	}
	if l.more {
		out.Next = newToken(l.groups[len(l.groups)-1].id)
	}
	return out
}
