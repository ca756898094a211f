package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
)

// Filter selects groups. The zero Filter selects all.
type Filter struct {
	Verdicts []topichash.Verdict
	Types    []string
	States   []string // in any case
	Match    *regexp.Regexp
}

// What there is to select from.
var (
	verdicts = []topichash.Verdict{
		topichash.Match, topichash.Pending, topichash.Stale, topichash.Unknown, topichash.None, topichash.Drift,
	}
	types  = []groups.Type{groups.Classic, groups.Consumer, groups.Share, groups.Streams}
	states = []groups.State{groups.Empty, groups.NotReady, groups.Assigning, groups.Reconciling, groups.Stable}
)

// maxExpression bounds the length of a regular expression. Matching is linear
// in the group id, and the compiled form is a few times the expression.
const maxExpression = 1024

// ParseFilter reads the parts of a filter; each but match may list several
// values with commas between, and all may be empty. match is found anywhere in
// the group id, in RE2 syntax. The error names the value and what there is.
func ParseFilter(verdict, kind, state, match string) (*Filter, error) {
	var f Filter
	verdicts, err := choices("verdict", verdict, texts(verdicts))
	for _, v := range verdicts {
		f.Verdicts = append(f.Verdicts, topichash.Verdict(v))
	}
	if err == nil {
		f.Types, err = choices("type", kind, texts(types))
	}
	if err == nil {
		f.States, err = choices("state", state, texts(states))
	}
	if err == nil && match != "" {
		f.Match, err = expression(match)
	}
	return &f, err
}

func expression(match string) (*regexp.Regexp, error) {
	if len(match) > maxExpression {
		return nil, fmt.Errorf("match: the expression has %d bytes, at most %d are allowed", len(match), maxExpression)
	}
	re, err := regexp.Compile(match)
	if err != nil {
		return nil, fmt.Errorf("match: %w", err)
	}
	return re, nil
}

// choices splits a list of values, each of which must be one of those known,
// in any case.
func choices(what, list string, known []string) (chosen []string, err error) {
	if list == "" {
		return nil, nil
	}
	for value := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, value) })
		if i < 0 {
			return nil, fmt.Errorf("%s: %q is none of %s", what, value, strings.Join(known, ", "))
		}
		chosen = append(chosen, known[i])
	}
	return chosen, nil
}

func texts[T any](values []T) (all []string) {
	for _, v := range values {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// Disagreeing selects the groups that need a look: those whose verdict is
// neither match nor none.
func Disagreeing() *Filter {
	var f Filter
	for _, v := range verdicts {
		if v != topichash.Match && v != topichash.None {
			f.Verdicts = append(f.Verdicts, v)
		}
	}
	return &f
}

// Selects says whether the filter lets a group pass.
func (f *Filter) Selects(g *pipeline.Group) bool {
	return (f.Verdicts == nil || slices.Contains(f.Verdicts, g.Answer.Verdict)) &&
		(f.Types == nil || slices.Contains(f.Types, g.Type.String())) &&
		(f.States == nil || slices.Contains(f.States, string(g.State))) &&
		(f.Match == nil || f.Match.MatchString(g.ID))
}
