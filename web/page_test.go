package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// The pages of a list, one after the other, are the list: no group twice, none
// left out, whatever the limits and whoever is asked.
func TestPagesAreTheWholeList(t *testing.T) {
	s := many(t, 3, nil)
	var ids []string
	for i := range 25 {
		id := fmt.Sprintf("g%c%d", 'a'+i%7, i*i)
		s.groups(groups.PartitionFor(id, 3), fmt.Sprintf(`3 {"groupId":%q} {"epoch":1}`, id))
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, query := range []string{"limit=1", "limit=2", "limit=7", "limit=24", "limit=25", "limit=1000", "bytes=1", "limit=13&bytes=4000"} {
		for node := range s.sidecars {
			require.Equal(t, ids, walk(t, s.sidecars[node], "/v1/groups", query), "%s at %d", query, node)
		}
	}
	var local []string
	for node := range s.sidecars {
		local = append(local, walk(t, s.sidecars[node], "/v1/groups", "limit=4&local=true")...)
	}
	slices.Sort(local)
	require.Equal(t, ids, local, "every sidecar by itself")
}

func TestPagesOfTopics(t *testing.T) {
	s := many(t, 2, nil)
	want := []string{"__consumer_offsets"}
	var lines []string
	for i := range 50 {
		name := fmt.Sprintf("t%d", i*7919%50)
		want = append(want, name)
		lines = append(lines, fmt.Sprintf(`TopicRecord {"name":%q,"topicId":"$%d"}`, name, 100+i))
	}
	s.metadata(lines...)
	slices.Sort(want)
	for _, query := range []string{"limit=1", "limit=3", "limit=51", "limit=1000", "bytes=1", "limit=10&bytes=500"} {
		require.Equal(t, want, walk(t, s.sidecars[1], "/v1/topics", query), query)
	}
}

// Rebalances are listed newest first, and on each page of several sidecars what
// any of them holds.
func TestPagesOfRebalances(t *testing.T) {
	s := many(t, 3, nil)
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("g%d", i*7919%25)
		s.groups(groups.PartitionFor(id, 3), fmt.Sprintf(`5 {"groupId":%q,"memberId":"m"} {}`, id), fmt.Sprintf(`3 {"groupId":%q} {"epoch":1}`, id))
		want = append(want, id)
	}
	whole := walk(t, s.sidecars[1], "/v1/rebalances", "limit=1000")
	require.ElementsMatch(t, want, whole)
	for _, query := range []string{"limit=1", "limit=2", "limit=7", "limit=24", "limit=25", "bytes=1", "limit=13&bytes=4000"} {
		for node := range s.sidecars {
			require.Equal(t, whole, walk(t, s.sidecars[node], "/v1/rebalances", query), "%s at %d", query, node)
		}
	}
	for _, token := range []string{"g1", "1/2", "x/2/id", "1/x/id", "01/2/id", "1/99999999999/id"} {
		r := s.sidecars[1].get("/v1/rebalances?after=" + newToken(token))
		require.Equal(t, http.StatusBadRequest, r.StatusCode, token)
	}
}

// Changes are listed newest first, and the pages one after the other are the
// whole list.
func TestPagesOfChanges(t *testing.T) {
	s := many(t, 3, nil)
	var want []string
	for i := range 25 {
		s.metadata(fmt.Sprintf(`TopicRecord {"name":"t%d","topicId":"$%d"}`, i, 100+i))
		want = append([]string{fmt.Sprintf("topic t%d is created with 0 partitions", i)}, want...)
	}
	whole := walk(t, s.sidecars[1], "/v1/changes", "limit=1000")
	require.Equal(t, want, whole[:len(want)])
	for _, query := range []string{"limit=1", "limit=2", "limit=7", "limit=25", "bytes=1", "limit=13&bytes=4000"} {
		require.Equal(t, whole, walk(t, s.sidecars[2], "/v1/changes", query), query)
	}
	require.Equal(t, []string{want[7]}, walk(t, s.sidecars[2], "/v1/changes", "topic=t17"))
}

// walk asks for page after page.
func walk(t *testing.T, c *sidecar, path, query string) (names []string) {
	after := ""
	for range 1000 {
		r := c.get(path + "?" + query + "&after=" + url.QueryEscape(after))
		require.Equal(t, http.StatusOK, r.StatusCode)
		page := decode[struct {
			Groups     []struct{ Group string }
			Topics     []struct{ Name string }
			Rebalances []struct{ Group string }
			Changes    []struct{ Changes []struct{ Summary string } }
			Missing    []api.Missing
			Next       string
		}](t, r)
		require.Empty(t, page.Missing)
		for _, g := range page.Groups {
			names = append(names, g.Group)
		}
		for _, topic := range page.Topics {
			names = append(names, topic.Name)
		}
		for _, r := range page.Rebalances {
			names = append(names, r.Group)
		}
		for _, c := range page.Changes {
			for _, one := range c.Changes {
				names = append(names, one.Summary)
			}
		}
		if after = page.Next; after == "" {
			return names
		}
	}
	t.Fatal("the pages do not end")
	return nil
}

// Whatever parts the sidecars answer with, the pages that are made of them are
// the union, each group as the newest of those who have it.
func TestMergeLaw(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		all := make([][]encodedGroup, 1+random.IntN(4))
		newest := make(map[string]kafka.Offset)
		for i := range all {
			for range random.IntN(12) {
				g := encodedGroup{id: string(rune('a' + random.IntN(15))), json: json.RawMessage(strings.Repeat("x", random.IntN(20)))}
				at := kafka.Offset(random.IntN(5))
				g.at.MetadataOffset = &at
				if !slices.ContainsFunc(all[i], func(o encodedGroup) bool { return o.id == g.id }) {
					all[i] = append(all[i], g)
					newest[g.id] = max(newest[g.id], at)
				}
			}
			slices.SortFunc(all[i], func(a, b encodedGroup) int { return cmp.Compare(a.id, b.id) })
		}
		got := make(map[string]kafka.Offset)
		p := page{limit: 1 + random.IntN(6), bytes: 1 + random.IntN(60)}
		for {
			var parts []*groupList
			for i := range all {
				parts = append(parts, partOf(all[i], p, random))
			}
			merged := mergeGroups(parts, p)
			for _, g := range merged.groups {
				require.NotContains(t, got, g.id, "seed %d: a group twice", seed)
				got[g.id] = offset(g.at.MetadataOffset)
			}
			if !merged.more {
				break
			}
			p.begun, p.after = true, merged.groups[len(merged.groups)-1].id
		}
		require.Equal(t, newest, got, "seed %d", seed)
	}
}

// partOf is what a sidecar answers: as much as it likes of what comes after.
func partOf(all []encodedGroup, p page, random *rand.Rand) *groupList {
	var rest []encodedGroup
	for _, g := range all {
		if !p.begun || g.id > p.after {
			rest = append(rest, g)
		}
	}
	if n := 1 + random.IntN(p.limit); n < len(rest) {
		return &groupList{groups: rest[:n], more: true}
	}
	return &groupList{groups: rest}
}

func FuzzToken(f *testing.F) {
	for _, name := range []string{"", "orders", "a/b\x00\xff", strings.Repeat("x", 1000)} {
		f.Add(newToken(name))
	}
	for _, bad := range []string{"", "A", "AA", "!", "AW9yZGVycw==", "\x00", "A\rX0", "AX1"} {
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, token string) {
		name, err := parseToken(token)
		if err == nil {
			require.Equal(t, token, newToken(name), "two tokens for one name")
		}
	})
}

func TestTokensRoundTrip(t *testing.T) {
	for _, name := range []string{"", "orders", "Ünïcode", "a/b?c&d=%\x00\x1b[31m\xff", strings.Repeat("x", 1<<15)} {
		got, err := parseToken(newToken(name))
		require.NoError(t, err)
		require.Equal(t, name, got)
	}
}
