package answer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// members is the table of a group's members.
func members(t *cli.Text, g *api.Group) {
	if len(g.Members) == 0 {
		return
	}
	head := []string{"MEMBER", "CLIENT", "HOST", "EPOCH"}
	if t.Wide {
		head = append(head, "INSTANCE", "RACK", "SUBSCRIBED")
	}
	rows := [][]string{bold(t, append(head, "STATE", "HAS"))}
	for i := range g.Members {
		rows = append(rows, memberRow(t, g, &g.Members[i]))
	}
	t.Printf("\n")
	t.Table("", rows)
}

func memberRow(t *cli.Text, g *api.Group, m *api.Member) []string {
	epoch := strconv.Itoa(int(m.MemberEpoch))
	if m.MemberEpoch != g.Epoch {
		epoch = t.Yellow(epoch)
	}
	row := []string{cli.Name(m.MemberID), cli.Name(m.ClientID), host(m.ClientHost), epoch}
	if t.Wide {
		row = append(row, optional(m.InstanceID), optional(m.RackID), subscribed(m))
	}
	return append(row, memberState(t, m), holds(m))
}

// host is a client's address; Kafka writes a slash before it.
func host(s string) string { return cli.Name(strings.TrimPrefix(s, "/")) }

func optional(s *string) string {
	if s == nil {
		return "-"
	}
	return cli.Name(*s)
}

func subscribed(m *api.Member) string {
	text := names(m.SubscribedTopics)
	if m.SubscribedRegex != nil {
		text = strings.TrimSpace(text + " regex " + cli.Name(*m.SubscribedRegex))
	}
	return orDash(text)
}

func memberState(t *cli.Text, m *api.Member) string {
	switch {
	case m.State == nil:
		return "-"
	case *m.State == "STABLE":
		return *m.State
	}
	return t.Yellow(cli.Name(*m.State))
}

// holds is what a member has, and what it is to have if that is something
// else.
func holds(m *api.Member) string {
	has, target := "", ""
	if m.Streams != nil {
		has, target = tasks(&m.Streams.Assigned), tasks(&m.Streams.Target)
	} else {
		has = partitions(m.Assigned)
		target = has
		if m.Target != nil {
			target = partitions(*m.Target)
		}
	}
	if target != has {
		return orDash(has) + "  ->  " + orDash(target)
	}
	return orDash(has)
}

func tasks(t *api.Tasks) string {
	var parts []string
	for _, kind := range []struct {
		name  string
		tasks api.Assignment
	}{{"active", t.Active}, {"standby", t.Standby}, {"warmup", t.Warmup}} {
		if len(kind.tasks) > 0 {
			parts = append(parts, kind.name+" "+partitions(kind.tasks))
		}
	}
	return strings.Join(parts, "; ")
}
