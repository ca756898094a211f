package imagediff

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Report is what `diff` prints.
type Report struct {
	From    Side     `json:"from"`
	To      Side     `json:"to"`
	Changes []Change `json:"changes"`
}

// Side says which state was compared.
type Side struct {
	Path      string       `json:"path"`
	Offset    kafka.Offset `json:"offset"`
	Epoch     kafka.Epoch  `json:"epoch"`
	Timestamp cli.Time     `json:"timestamp"`
	// Committed and InTransaction are as in State.
	Committed     bool `json:"committed"`
	InTransaction bool `json:"inTransaction"`
}

// Compare makes the report of two states.
func Compare(from, to *State) *Report {
	changes := Images(from.Image, to.Image)
	if changes == nil {
		changes = []Change{}
	}
	return &Report{From: from.side(), To: to.side(), Changes: changes}
}

func (s *State) side() Side {
	p := s.Image.Provenance()
	at := cli.Time(p.AppendTime)
	if at == 0 {
		at = -1 // the image does not know it
	}
	return Side{Path: s.Path, Offset: p.Offset, Epoch: p.Epoch, Timestamp: at, Committed: s.Committed, InTransaction: s.InTransaction}
}

// headings are what text calls the parts. A partition's changes stand with its
// topic's.
var headings = map[Part]string{
	Features: "features", Brokers: "brokers", Controllers: "controllers", Topics: "topics", Partitions: "topics", Configs: "configurations",
	Quotas: "quotas", Acls: "ACLs", Scram: "SCRAM credentials", Tokens: "delegation tokens", ProducerIDs: "producer ids",
}

// Text adds the report for people.
func (r *Report) Text(t *cli.Text) {
	switch n := len(r.Changes); n {
	case 0:
		t.Printf("%s\n", t.Bold("no difference"))
	case 1:
		t.Printf("%s\n", t.Bold("1 change"))
	default:
		t.Printf("%s\n", t.Bold(fmt.Sprintf("%d changes", n)))
	}
	t.Table("  ", [][]string{r.From.row(t, "from"), r.To.row(t, "to")})
	heading := ""
	for _, l := range r.lines(t.Wide) {
		if h := headings[l.part]; h != heading {
			heading = h
			t.Printf("\n%s\n", t.Bold(h))
		}
		t.Printf("  %s\n", l.text)
	}
}

func (s *Side) row(t *cli.Text, what string) []string {
	row := []string{what, cli.Name(s.Path), fmt.Sprintf("offset %d, epoch %d", s.Offset, s.Epoch), t.Format(int64(s.Timestamp))}
	if s.InTransaction {
		return append(row, "before a transaction that is open there")
	}
	if !s.Committed {
		return append(row, "not known to be committed")
	}
	return row
}

// line is a line of text.
type line struct {
	part Part
	text string
}

// crowd is how many partitions of a topic may have the same field changed
// before they share a line.
const crowd = 3

// lines are the summaries. Unless all are wanted, partitions of a topic that
// changed in the same way are counted instead.
func (r *Report) lines(all bool) (lines []line) {
	type way struct{ topic, field string }
	counts := make(map[way]int)
	for _, c := range r.Changes {
		if c.Part == Partitions {
			counts[way{c.Topic, c.Field}]++
		}
	}
	for _, c := range r.Changes {
		w := way{c.Topic, c.Field}
		n := counts[w]
		switch {
		case all || c.Part != Partitions || c.Field == "" || n <= crowd && n > 0:
			lines = append(lines, line{c.Part, c.Summary})
		case n > crowd:
			lines = append(lines, line{c.Part, fmt.Sprintf("%s: %s of %d partitions changed (-o wide lists them)", cli.Name(c.Topic), c.Field, n)})
			counts[w] = 0 // said
		}
	}
	return lines
}
