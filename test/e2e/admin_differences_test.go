//go:build e2e && unix

package e2e

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/test/jvm"
)

// request is what two answers are to.
type request struct {
	api     string
	version int16
	form    string // the case
	when    string
	broker  int32
}

func (r request) String() string {
	return fmt.Sprintf("%s v%d %s, broker %d, %s", r.api, r.version, r.form, r.broker, r.when)
}

// allowance is a difference that there has to be.
type allowance struct {
	api    string         // of which requests; "" of all
	path   *regexp.Regexp // in the answer
	form   string         // of which case; "" of all
	reason string
	// when, unless nil, is what the two values have to be like.
	when func(d difference) bool
	// refused: it is of requests that are refused.
	refused bool
	// sometimes: not every run needs it.
	sometimes bool
}

// comparison collects the differences of answers.
type comparison struct {
	compared map[string]int      // requests by API and versions
	used     map[int]bool        // allowances that were needed
	wrong    map[string][]string // by kind
}

func newComparison() *comparison {
	return &comparison{compared: map[string]int{}, used: map[int]bool{}, wrong: map[string][]string{}}
}

func (c *comparison) add(q request, broker, sidecar kmsg.Response) {
	c.compared[q.api]++
	for _, d := range compare(broker, sidecar) {
		if !c.allowed(q, d) {
			kind := q.api + " " + index.ReplaceAllString(d.path, "[]")
			c.wrong[kind] = append(c.wrong[kind], fmt.Sprintf("%s: %s", q, d))
		}
	}
}

var index = regexp.MustCompile(`\[[^]]*\]`)

func (c *comparison) allowed(q request, d difference) bool {
	for i, a := range allowances {
		if (a.api == "" || a.api == q.api) && (a.form == "" || a.form == q.form) && a.path.MatchString(d.path) && (a.when == nil || a.when(d)) {
			c.used[i] = true
			return true
		}
	}
	return false
}

// report fails for what is not allowed, and on the newest release for an
// allowance that nothing needed.
func (s *adminStage) report(t *testing.T, of string) {
	requests := 0
	for _, api := range slices.Sorted(maps.Keys(s.compared)) {
		requests += s.compared[api]
		t.Logf("%-32s %d requests compared", api, s.compared[api])
	}
	wrong := 0
	for _, kind := range slices.Sorted(maps.Keys(s.wrong)) {
		all := s.wrong[kind]
		wrong += len(all)
		t.Errorf("%d times %s, which is not allowed, such as\n%s", len(all), kind, strings.Join(all[:min(len(all), 6)], "\n"))
	}
	t.Logf("%d requests compared; differences not allowed: %d", requests, wrong)
	if s.Version() != jvm.Newest {
		return
	}
	for i, a := range allowances {
		if !s.used[i] && !a.sometimes && a.refused == (of == "access") {
			t.Errorf("nothing needs the allowance %s %s: %s", a.api, a.path, a.reason)
		}
	}
	require.NoError(t, s.requireDocumented())
}

const differencesFile = "../../docs/admin-differences.md"

// requireDocumented compares the table of allowances with the file that has it.
func (s *adminStage) requireDocumented() error {
	want := differencesText()
	if flag.Lookup("rewrite").Value.String() == "true" {
		return os.WriteFile(differencesFile, []byte(want), 0o644)
	}
	have, err := os.ReadFile(differencesFile)
	if err != nil {
		return err
	}
	if string(have) != want {
		return fmt.Errorf("%s is not what the table says; go test -run TestAdmin -rewrite writes it", differencesFile)
	}
	return nil
}

func differencesText() string {
	var b strings.Builder
	b.WriteString(`# Where the admin endpoint answers other than a broker

TestAdmin sends every request of every version that is served to brokers and to the sidecar, and compares the answers field
by field. These are the differences that it allows, each because the sidecar cannot know what the broker does, or must
not tell it. This file is made of its table by ` + "`go test -tags e2e -run TestAdmin ./test/e2e -rewrite`" + `.

| request | field | why |
|---|---|---|
`)
	for _, a := range allowances {
		api := a.api
		if api == "" {
			api = "all"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", api, field(a.path), a.reason)
	}
	return b.String()
}

// field is a pattern as people read it.
func field(path *regexp.Regexp) string {
	return strings.NewReplacer(`\[.*\]`, "[]", `\.`, ".", "^", "", "$", "", `\[`, "[", `\]`, "]", "|", `\|`).Replace(path.String())
}
