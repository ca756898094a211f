package api

import (
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
)

// Counts are the numbers of the groups that a sidecar answers for. What there
// is none of is left out.
type Counts struct {
	Groups   int                       `json:"groups"`
	Types    map[string]int            `json:"types"`
	States   map[string]int            `json:"states"`
	Verdicts map[topichash.Verdict]int `json:"verdicts"`
}

// NewCounts counts the groups that v answers for.
func NewCounts(v *pipeline.View) Counts {
	c := emptyCounts()
	for g := range v.GroupsFrom("") {
		if v.Answers(g) {
			c.Groups++
			c.Types[g.Type.String()]++
			c.States[string(g.State)]++
			c.Verdicts[g.Answer.Verdict]++
		}
	}
	return c
}

func emptyCounts() Counts {
	return Counts{Types: make(map[string]int), States: make(map[string]int), Verdicts: make(map[topichash.Verdict]int)}
}

// TotalCounts are those of the sidecar and of its peers together.
func (s *Status) TotalCounts() Counts {
	total := emptyCounts()
	total.add(s.Groups.Counts)
	for i := range s.Peers {
		total.add(s.Peers[i].Counts)
	}
	return total
}

func (c *Counts) add(o Counts) {
	c.Groups += o.Groups
	addTo(c.Types, o.Types)
	addTo(c.States, o.States)
	addTo(c.Verdicts, o.Verdicts)
}

func addTo[K comparable](to, counts map[K]int) {
	for what, n := range counts {
		to[what] += n
	}
}
