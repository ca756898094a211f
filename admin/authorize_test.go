package admin

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// decision is a line of decisions.jsonl, which test/jvm makes of Kafka's own
// authorizer.
type decision struct {
	AllowIfNoACL bool    `json:"allowIfNoAcl"`
	Acls         [][]any `json:"acls"`      // resource type, name, pattern type, principal, host, operation, permission type
	Decisions    [][]any `json:"decisions"` // principal, host, resource type, name, operation, whether it is allowed
}

func code(v any) int8 { return int8(v.(float64)) }

// What somebody may do is what Kafka's authorizer decides.
func TestDecisions(t *testing.T) {
	f, err := os.Open("testdata/decisions.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines, decided := bufio.NewScanner(f), 0
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d decision
		require.NoError(t, json.Unmarshal(lines.Bytes(), &d))
		x := newACLIndex()
		for _, a := range d.Acls {
			x.add(code(a[0]), a[1].(string), code(a[2]), aclEntry{
				principal: a[3].(string), host: a[4].(string), operation: code(a[5]), deny: code(a[6]) == denied,
			})
		}
		authorizer := &Authorizer{SuperUsers: []string{"User:admin"}, AllowIfNoACL: d.AllowIfNoACL}
		for _, q := range d.Decisions {
			who := asking{principal: q[0].(string), host: q[1].(string)}
			got := authorizer.allows(x, who, code(q[4]), code(q[2]), q[3].(string))
			require.Equal(t, q[5], got, "%v with %v", q, d.Acls)
			decided++
		}
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 4800, decided)
}
