//go:build e2e && unix

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// causesDoc is for people. Its facts are those of the expectations, and its
// examples are what explain printed when it was written.
const causesDoc = "../../docs/causes.md"

// fence is what an example stands between.
const fence = "```\n"

// requireTold compares docs/causes.md with the expectations of all releases.
// With -rewrite it is written anew, with the examples of this run where no
// newer release has the scenario.
func (s *stage) requireTold(t *testing.T, version string) {
	old, err := os.ReadFile(causesDoc)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	d := readDoc(t, string(old))
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	for name, p := range s.played {
		if by := d.by[name]; rewrite && by[len(by)-1] == version {
			d.examples[name] = p.example
		}
	}
	text := d.write(t)
	if rewrite {
		require.NoError(t, os.WriteFile(causesDoc, []byte(text), 0o644))
		return
	}
	require.Equal(t, string(old), text, "%s; -rewrite writes it", causesDoc)
}

// doc is what the document is made of.
type doc struct {
	expected map[string]map[string]string // by scenario and release
	by       map[string][]string          // releases of each scenario, oldest first
	examples map[string]string
}

// readDoc reads the expectations, and the examples of the document as it is.
func readDoc(t *testing.T, old string) *doc {
	d := &doc{expected: map[string]map[string]string{}, by: map[string][]string{}, examples: map[string]string{}}
	files, err := os.ReadDir(expectations)
	require.NoError(t, err)
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(expectations, f.Name()))
		require.NoError(t, err)
		for _, part := range strings.Split(string(content), "explain ")[1:] {
			name, text, _ := strings.Cut(part, "\n----\n")
			if d.expected[name] == nil {
				d.expected[name] = map[string]string{}
			}
			d.expected[name][f.Name()] = gist(text)
			d.by[name] = append(d.by[name], f.Name())
		}
	}
	name, inside := "", false
	for line := range strings.Lines(old) {
		switch {
		case line == fence:
			inside = !inside
		case inside:
			d.examples[name] += line
		case strings.HasPrefix(line, "#"):
			_, name, _ = strings.Cut(line, "`")
			name, _, _ = strings.Cut(name, "`")
		}
	}
	return d
}

// gist is which causes are expected, with how certain they are and what set
// them off, each once.
func gist(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && (words[0] == "certain" || words[0] == "likely"):
			kind, _, _ := strings.Cut(words[1], ":")
			one := fmt.Sprintf("`%s`, %s", kind, words[0])
			if kind == "metadata" {
				one = fmt.Sprintf("`metadata` (%s), %s", words[2], words[0])
			}
			all = append(all, one)
		case len(words) > 3 && words[0] == "set":
			all[len(all)-1] += fmt.Sprintf(", set off by `%s`", strings.TrimSuffix(words[3], ":"))
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 0 {
		return strings.Join(all, "; ")
	}
	return "no rebalance"
}

func (d *doc) write(t *testing.T) string {
	var b strings.Builder
	b.WriteString(causesIntroduction)
	left := len(d.expected)
	for _, c := range chapters() {
		fmt.Fprintf(&b, "\n## %s\n", c.title)
		for _, s := range c.stories {
			require.NotEmpty(t, d.by[s.name], "no release has the scenario %s", s.name)
			left--
			d.writeStory(&b, &s)
		}
	}
	require.Zero(t, left, "scenarios that %s does not tell", causesDoc)
	b.WriteString(notProduced)
	return b.String()
}

func (d *doc) writeStory(b *strings.Builder, s *story) {
	fmt.Fprintf(b, "\n### `%s`: %s\n\n%s\n\n", s.name, s.title, s.how)
	releases := map[string][]string{}
	var order []string
	for _, version := range d.by[s.name] {
		said := d.expected[s.name][version]
		if releases[said] == nil {
			order = append(order, said)
		}
		releases[said] = append(releases[said], version)
	}
	for _, said := range order {
		fmt.Fprintf(b, "* Kafka %s: %s\n", strings.Join(releases[said], ", "), said)
	}
	if example := d.examples[s.name]; example != "" {
		b.WriteString("\n" + fence + example + fence)
	}
}

// chapter is a part of the document.
type chapter struct {
	title   string
	stories []story
}

// story is how a scenario is told.
type story struct{ name, title, how string }
