package api

import (
	"slices"

	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/whatif"
)

// Whatif is the answer of /v1/whatif: of Prediction values, or of their encoded
// form.
type Whatif[P any] struct {
	// Groups are those that the plan concerns, by id.
	Groups []P `json:"groups"`
	// Examined are all groups that were looked at, those that the plan does not
	// concern included, counted by partition of __consumer_offsets, ascending.
	Examined []Examined `json:"examined"`
	Completeness
	Next string `json:"next,omitempty"`
}

// Examined counts the groups of a partition of __consumer_offsets.
type Examined struct {
	OffsetsPartition int32 `json:"offsetsPartition"`
	Groups           int   `json:"groups"`
}

// Prediction is what a plan does to a group.
type Prediction struct {
	Group   string           `json:"group"`
	Type    string           `json:"type"`
	Members int              `json:"members"`
	Bump    whatif.Bump      `json:"bump"`
	Bumps   Bumps            `json:"bumps"`
	Steps   []PredictedBump  `json:"steps"`
	Final   PredictedOutcome `json:"final"`
	Why     []string         `json:"why"`
	ReadAt  ReadAt           `json:"readAt"`
}

// Bumps is how often a group's epoch will be raised.
type Bumps struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// PredictedBump is one of those that come if a member heartbeats after every
// step. Hash is null where the controller decides on it.
type PredictedBump struct {
	After string `json:"after"`
	Hash  *Hash  `json:"hash"`
}

// PredictedOutcome is the hash that is stored, and the one in the end, null
// where that cannot be told, for the reason.
type PredictedOutcome struct {
	Before *Hash   `json:"before"`
	After  *Hash   `json:"after"`
	Reason *string `json:"reason"`
}

// NewPrediction is what was predicted of a group of v.
func NewPrediction(v *pipeline.View, g *pipeline.Group, p *whatif.Prediction) *Prediction {
	partition, _ := v.Partition(g.Partition)
	out := &Prediction{
		Group: g.ID, Type: g.Type.String(), Members: len(g.Members), Bump: p.Bump, Bumps: Bumps{p.Min, p.Max},
		Steps: []PredictedBump{}, Why: list(p.Why),
		Final:  PredictedOutcome{Before: (*Hash)(p.Before), After: (*Hash)(p.After), Reason: text(p.Reason)},
		ReadAt: ReadAt{MetadataOffset: Offset(v.Image.Provenance().Offset), Offset: Offset(partition.Next - 1)},
	}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, PredictedBump{After: s.After, Hash: (*Hash)(s.Hash)})
	}
	return out
}

// NewExamined counts the groups that v answers for.
func NewExamined(v *pipeline.View) []Examined {
	counts := make(map[int32]int)
	for g := range v.GroupsFrom("") {
		if v.Answers(g) {
			counts[g.Partition]++
		}
	}
	out := []Examined{}
	for partition, n := range counts {
		out = append(out, Examined{partition, n})
	}
	return JoinExamined(out)
}

// JoinExamined makes one list of several. Of a partition that is in two, as
// while its coordinator moves, the larger number holds.
func JoinExamined(lists ...[]Examined) []Examined {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Examined) int {
		if a.OffsetsPartition != b.OffsetsPartition {
			return int(a.OffsetsPartition - b.OffsetsPartition)
		}
		return b.Groups - a.Groups
	})
	return list(slices.CompactFunc(all, func(a, b Examined) bool { return a.OffsetsPartition == b.OffsetsPartition }))
}
