package main

import (
	"context"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

// historyFlags select changes and rebalances.
type historyFlags struct {
	group, topic string
	follow       bool
	period
}

func historyCommand(out *cli.Output) *cobra.Command {
	var s source
	var flags historyFlags
	c := &cobra.Command{
		Use:     "history",
		GroupID: live,
		Short:   "Tell how the metadata changed and which groups rebalanced, in the order of time",
		Long: `history is a timeline: which topics and brokers changed, by which record, which groups each change set off, and every
rebalance with the reason for it. With --group it is that group's rebalances and the changes that set them off, with --topic
what happened to that topic and to groups because of it.

` + sourceHelp,
		Example: `  kraftside history --since 15m
  kraftside history --topic orders --since 24h
  kraftside history -f`,
		Args: takes(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error { return flags.run(c, out, &s) },
	}
	f := c.Flags()
	f.StringVar(&flags.group, "group", "", "the rebalances of one `GROUP`, and the changes that set them off")
	f.StringVar(&flags.topic, "topic", "", "changes of one `TOPIC`, and the rebalances that it caused")
	f.StringVar(&flags.since, "since", "", "what happened since a `TIME`: a duration such as 15m, or 2006-01-02T15:04:05Z ("+lastHour+"; of files, all)")
	f.BoolVarP(&flags.follow, "follow", "f", false, "go on with what happens, until interrupted")
	c.MarkFlagsMutuallyExclusive("group", "topic")
	s.addFlags(c)
	return c
}

func (f *historyFlags) run(c *cobra.Command, out *cli.Output, s *source) error {
	switch {
	case f.follow && s.isFiles():
		return cli.Errorf(cli.BadUsage, "history: -f follows sidecars; files do not change here, leave it out")
	case !s.isFiles():
		f.orLastHour()
	}
	if err := f.check("history"); err != nil {
		return err
	}
	a, err := s.open(out)
	if err != nil {
		return err
	}
	h, err := f.history(c.Context(), out, a, f.from(out))
	if err != nil {
		return a.failed(err)
	}
	if f.follow {
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		return f.goOn(ctx, out, a, h)
	}
	return a.print(out, h, h.Text, h.Lacking())
}

// history is what happened since a time.
func (f *historyFlags) history(ctx context.Context, out *cli.Output, a *asked, since time.Time) (*answer.History, error) {
	if f.group != "" {
		return f.ofGroup(ctx, out, a, since)
	}
	changes, err := a.Changes(ctx, since, f.topic)
	if err != nil {
		return nil, err
	}
	all, err := a.AllRebalances(ctx, since)
	if err != nil {
		return nil, err
	}
	if f.topic != "" {
		all.Rebalances = slices.DeleteFunc(all.Rebalances, func(r api.Rebalance) bool { return !f.isAbout(&r) })
	}
	return answer.NewHistory(changes.Changes, all.Rebalances, f.text(out), answer.NewScope(&all.Completeness, a.files != nil)), nil
}

// isAbout says whether a rebalance has the topic as a cause.
func (f *historyFlags) isAbout(r *api.Rebalance) bool {
	return slices.ContainsFunc(r.Causes, func(c api.Cause) bool { return c.Topic != nil && *c.Topic == f.topic })
}

// ofGroup has the changes that set off the rebalances of a group, however old.
func (f *historyFlags) ofGroup(ctx context.Context, out *cli.Output, a *asked, since time.Time) (*answer.History, error) {
	got, err := a.Rebalances(ctx, f.group, ask.Rebalances{Epoch: -1, Since: since})
	if err != nil {
		return nil, err
	}
	changes, err := a.Changes(ctx, time.Time{}, "")
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool)
	for i := range got.Rebalances {
		listed[got.Rebalances[i].ID] = true
	}
	set := slices.DeleteFunc(changes.Changes, func(c api.Change) bool {
		return !slices.ContainsFunc(c.Rebalances, func(s api.SetOff) bool { return listed[s.ID] })
	})
	h := answer.NewHistory(set, got.Rebalances, f.text(out), answer.NewScope(&got.Completeness, a.files != nil))
	h.Gaps = append(h.Gaps, got.Gaps...)
	return h, nil
}

// lookBack is how long after it began something that becomes known of a rebalance
// is still told of to who follows.
const lookBack = time.Hour

// goOn shows a history, and what is new of it, until ctx ends.
func (f *historyFlags) goOn(ctx context.Context, out *cli.Output, a *asked, h *answer.History) error {
	begin, again := f.from(out), time.NewTicker(watchInterval)
	defer again.Stop()
	var followed answer.Followed
	var problem string
	for {
		if err := followed.Show(out, h); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
		next, err := f.history(ctx, out, a, later(begin, out.Now().Add(-lookBack)))
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			h, err = next, next.Lacking()
		}
		problem = reportOnce(out, err, problem)
	}
}

// later is the last of two times: what is before the first one is not new.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reportOnce says what is wrong, unless it was said last.
func reportOnce(out *cli.Output, err error, last string) string {
	if err == nil {
		return ""
	}
	if err.Error() != last {
		cli.Report(out.Err, err)
	}
	return err.Error()
}
