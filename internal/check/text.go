package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/cli"
)

// Text adds the report for people: the answer, a line a log, then what was
// found. Logs without records are counted only, unless all columns are wanted.
func (r *Report) Text(t *cli.Text) {
	t.Printf("%s\n", t.Bold(r.answer()))
	var rows [][]string
	empty := 0
	for _, l := range r.Logs {
		if l.Result == OK && l.Batches == 0 && len(l.Findings) == 0 && len(r.Logs) > 1 && !t.Wide {
			empty++
			continue
		}
		rows = append(rows, l.row(t))
	}
	if empty > 0 {
		rows = append(rows, []string{OK.text(t), "and " + cli.Count(empty, "log") + " without records"})
	}
	t.Table("  ", rows)
	for _, l := range r.Logs {
		l.details(t)
	}
}

// answer says how many logs came to which result.
func (r *Report) answer() string {
	counts := make(map[Result]int)
	for _, l := range r.Logs {
		counts[l.Result]++
	}
	var parts []string
	for _, result := range []Result{Damaged, PartlyUnverified, OK} {
		if n := counts[result]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, result))
		}
	}
	return cli.Count(len(r.Logs), "log") + ": " + strings.Join(parts, ", ")
}

func (l *LogReport) row(t *cli.Text) []string {
	row := []string{l.Result.text(t), cli.Name(l.Path), string(l.Log), l.extent(), l.files()}
	if t.Wide {
		row = append(row, fmt.Sprintf("%d batches", l.Batches), fmt.Sprintf("%d records", l.Records), fmt.Sprintf("%d bytes", l.Bytes))
	}
	return append(row, l.contents())
}

func (r Result) text(t *cli.Text) string {
	switch r {
	case Damaged:
		return t.Red(string(r))
	case PartlyUnverified:
		return t.Yellow(string(r))
	}
	return t.Green(string(r))
}

// extent is which offsets are there.
func (l *LogReport) extent() string {
	if l.StartOffset < 0 {
		return "no records"
	}
	return fmt.Sprintf("offsets %d to %d", l.StartOffset, l.EndOffset-1)
}

func (l *LogReport) files() string {
	var parts []string
	if l.Segments > 0 {
		parts = append(parts, cli.Count(l.Segments, "segment"))
	}
	if l.Snapshots > 0 {
		parts = append(parts, cli.Count(l.Snapshots, "snapshot"))
	}
	return strings.Join(parts, ", ")
}

// contents is what the log comes to, in words.
func (l *LogReport) contents() string {
	var parts []string
	for _, kind := range []string{"classic", "consumer", "share", "streams"} {
		if n := l.Groups[kind]; n > 0 {
			parts = append(parts, cli.Count(n, kind+" group"))
		}
	}
	if i := l.Image; i != nil {
		parts = append(parts, cli.Count(i.Brokers, "broker"), cli.Count(i.Topics, "topic"), cli.Count(i.Partitions, "partition"))
	}
	if l.SnapshotsEqual > 0 {
		parts = append(parts, cli.Count(l.SnapshotsEqual, "snapshot")+" equal to the log")
	}
	return strings.Join(parts, ", ")
}

// details adds what was found in a log.
func (l *LogReport) details(t *cli.Text) {
	if len(l.Findings)+len(l.Anomalies) == 0 {
		return
	}
	t.Printf("\n%s\n", t.Bold(cli.Name(l.Path)))
	var rows [][]string
	for _, kind := range []Kind{Damage, Unchecked, Note} {
		for _, f := range l.Findings {
			if f.Kind == kind {
				rows = append(rows, []string{kind.text(t), f.text(l.Path)})
			}
		}
	}
	t.Table("  ", rows)
	if l.MoreFindings > 0 {
		t.Printf("  and %d more\n", l.MoreFindings)
	}
	for _, a := range l.Anomalies {
		t.Printf("  %s  %s: %s\n", t.Yellow("anomaly"), cli.Count(int(a.Count), "record"), anomalies[a.Kind])
		for _, one := range a.First {
			t.Printf("    offset %d, group %s: %s\n", one.Offset, cli.Name(one.Group), cli.Escape(one.Reason))
		}
		if more := a.Count - int64(len(a.First)); more > 0 {
			t.Printf("    and %d more\n", more)
		}
	}
}

// anomalies are words for the kinds, by their names.
var anomalies = map[string]string{
	groups.UnknownType.String():       "of a type that Kafka 4.0 to 4.4 do not have; a coordinator skips it",
	groups.UnknownVersion.String():    "of a version that Kafka 4.0 to 4.4 do not have; a coordinator fails to load it",
	groups.TypeConflict.String():      "of another type of group than the group has",
	groups.GroupNotEmpty.String():     "removes a group that is not empty",
	groups.MemberNotReleased.String(): "removes a member that is assigned something",
	groups.TargetNotEmpty.String():    "removes a target assignment that is not empty",
	groups.PartitionOwned.String():    "assigns a partition that another member owns",
}

func (k Kind) text(t *cli.Text) string {
	switch k {
	case Damage:
		return t.Red(string(k))
	case Unchecked:
		return t.Yellow(string(k))
	}
	return t.Dim(string(k))
}

// text is where and what. The folder stands above already.
func (f *Finding) text(dir string) string {
	var where []string
	if f.File != "" {
		where = append(where, cli.Escape(strings.TrimPrefix(f.File, dir+"/")))
	}
	if f.Position != nil {
		where = append(where, fmt.Sprintf("byte %d", *f.Position))
	}
	if f.Offset != nil {
		where = append(where, fmt.Sprintf("offset %d", *f.Offset))
	}
	where = slices.DeleteFunc(where, func(s string) bool { return s == "" })
	if len(where) == 0 {
		return cli.Escape(f.Summary)
	}
	return strings.Join(where, ", ") + ": " + cli.Escape(f.Summary)
}
