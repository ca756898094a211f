package main

import (
	"errors"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
)

// period is the time that --since selects.
type period struct {
	since   string
	unasked bool // since is what is told of unless told otherwise
}

const lastHour = "1h"

// orLastHour has the last hour selected if nothing is.
func (p *period) orLastHour() {
	if p.since == "" {
		p.since, p.unasked = lastHour, true
	}
}

// check checks the flag of a command.
func (p *period) check(command string) error {
	if _, err := parseSince(p.since, time.Time{}); err != nil {
		return cli.Errorf(cli.BadUsage, "%s: --since: %w", command, err)
	}
	return nil
}

var errSince = errors.New("want a duration such as 15m, or a time such as 2006-01-02T15:04:05Z")

// parseSince reads a duration before now, or a time; the zero time if there is
// neither.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Time{}, errSince
}

// from is the time of --since, which goes on while it is watched.
func (p *period) from(out *cli.Output) time.Time {
	at, _ := parseSince(p.since, out.Now()) // checked before
	return at
}

// text is the period as the end of a sentence.
func (p *period) text(out *cli.Output) string {
	_, err := time.ParseDuration(p.since)
	switch {
	case p.since == "":
		return "in all that was read"
	case p.unasked:
		return "in the last hour; --since goes further back"
	case err == nil:
		return "in the last " + p.since
	}
	return "since " + out.Clock.Format(p.from(out).UnixMilli())
}
