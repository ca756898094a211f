// Package answer is what the commands that ask about a cluster print: the
// groups, topics and sidecars of package web/api as text for people, and as
// the values of which JSON and YAML are made.
//
// Text says the answer first, then what it rests on. What an answer lacks is
// said beside it, by Lacking, whatever its form.
package answer

import (
	"errors"
	"fmt"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// Scope is what an answer lacks, and on what it rests.
type Scope struct {
	Missing []api.Missing `json:"missing"`
	Loading []api.Loading `json:"loading,omitempty"`
	// Committed is false for answers from files, whose last records may not be
	// committed. Sidecars know committed records only; then it is left out.
	Committed *bool `json:"committed,omitempty"`
}

// NewScope is that of an answer of sidecars, or one from files.
func NewScope(c *api.Completeness, files bool) Scope {
	s := Scope{Missing: c.Missing, Loading: c.Loading}
	if s.Missing == nil {
		s.Missing = []api.Missing{}
	}
	if files {
		s.Committed = new(bool)
	}
	return s
}

// Lacking is what an answer lacks, as an error with the code Incomplete that
// has a line for each thing; nil if it lacks nothing.
func (s *Scope) Lacking() error {
	var errs []error
	for i := range s.Missing {
		errs = append(errs, cli.Errorf(cli.Incomplete, "incomplete: %s", missingText(&s.Missing[i])))
	}
	if len(s.Loading) > 0 {
		errs = append(errs, cli.Errorf(cli.Incomplete, "incomplete: %s; groups that are in it may not be in the answer; ask again later",
			loadingText(s.Loading)))
	}
	return errors.Join(errs...)
}

func missingText(m *api.Missing) string {
	switch {
	case m.Broker == kafka.NoNode:
		return m.Error // it says who
	case m.Host == "":
		return fmt.Sprintf("broker %d: %s", m.Broker, m.Error)
	}
	return fmt.Sprintf("broker %d at %s: %s", m.Broker, m.Host, m.Error)
}

// loadingText sums up the partitions that are loading.
func loadingText(loading []api.Loading) string {
	percent := 0
	var longest *int64
	for _, l := range loading {
		percent += l.Percent
		if l.RemainingMs != nil && (longest == nil || *l.RemainingMs > *longest) {
			longest = l.RemainingMs
		}
	}
	which, verb := count(len(loading), "partition", "partitions"), "are"
	if len(loading) == 1 {
		verb = "is"
	}
	text := fmt.Sprintf("%s of %s %s loading, %d %% read", which, kafka.OffsetsTopic, verb, percent/len(loading))
	if longest != nil {
		text += ", about " + span(time.Duration(*longest)*time.Millisecond) + " left"
	}
	return text
}
