// Package check verifies log files against the rules by which they are
// written and replayed: what each batch must be, that offsets and epochs go on
// as they should, that every record can be decoded and applied, and that a
// snapshot equals the log in whose place it stands.
//
// It reads everything once, in order, with the memory of one image (two while
// a snapshot is compared) or of the groups of one partition. It goes on behind
// damage as far as that says anything.
package check

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logfile"
)

// Kind says what a finding means.
type Kind string

// The kinds of findings.
const (
	// Damage: the file is not what Kafka wrote, or contradicts itself.
	Damage Kind = "damage"
	// Unchecked: something could not be verified, for the reason given.
	Unchecked Kind = "unchecked"
	// Note: worth knowing, and in order.
	Note Kind = "note"
)

// Result is what it comes to.
type Result string

// The results. A log with anomalies of groups is ok: they are listed.
const (
	OK               Result = "ok"
	Damaged          Result = "damaged"
	PartlyUnverified Result = "unchecked"
)

// Report is what `check` prints.
type Report struct {
	Result Result       `json:"result"`
	Logs   []*LogReport `json:"logs"`
}

// LogReport is about one partition.
type LogReport struct {
	Path      string      `json:"path"`
	Log       logfile.Log `json:"log"`
	Partition *int32      `json:"partition,omitempty"`
	Result    Result      `json:"result"`
	Segments  int         `json:"segments"`
	Snapshots int         `json:"snapshots"`
	Bytes     int64       `json:"bytes"`
	Batches   int64       `json:"batches"`
	Records   int64       `json:"records"`
	// StartOffset is the first offset and EndOffset the one after the last;
	// both are -1 without a segment that holds a batch.
	StartOffset kafka.Offset `json:"startOffset"`
	EndOffset   kafka.Offset `json:"endOffset"`
	// Image and Groups are what the log comes to, when replayed to its end.
	// Groups counts them by type.
	Image  *Image         `json:"image,omitempty"`
	Groups map[string]int `json:"groups,omitempty"`
	// SnapshotsEqual is how many snapshots were found to equal the log.
	SnapshotsEqual int       `json:"snapshotsEqual"`
	Findings       []Finding `json:"findings"`
	// MoreFindings is how many there are beyond those.
	MoreFindings int64       `json:"moreFindings"`
	Anomalies    []Anomalies `json:"anomalies,omitempty"`
}

// Image counts what is in an image.
type Image struct {
	Brokers    int `json:"brokers"`
	Topics     int `json:"topics"`
	Partitions int `json:"partitions"`
}

// Finding is something found at a place.
type Finding struct {
	Kind Kind   `json:"kind"`
	File string `json:"file,omitempty"`
	// Position is the byte of the file at which the batch begins, and Offset
	// that of the record, in a snapshot its number; null if there is none.
	Position *int64        `json:"position"`
	Offset   *kafka.Offset `json:"offset"`
	Summary  string        `json:"summary"`
}

// Anomalies are records of groups that a coordinator would not replay.
type Anomalies struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	// First are the first of them.
	First []Anomaly `json:"first"`
}

// Anomaly is one of them.
type Anomaly struct {
	Offset kafka.Offset `json:"offset"`
	Group  string       `json:"group"`
	Reason string       `json:"reason"`
}

// maxFindings bounds the findings that are kept of a log, and maxAnomalies the
// anomalies of each kind.
const (
	maxFindings  = 100
	maxAnomalies = 5
)

// add adds a finding.
func (l *LogReport) add(f Finding) {
	switch {
	case f.Kind == Damage:
		l.Result = Damaged
	case f.Kind == Unchecked && l.Result == OK:
		l.Result = PartlyUnverified
	}
	if len(l.Findings) == maxFindings {
		l.MoreFindings++
		return
	}
	l.Findings = append(l.Findings, f)
}

// note adds a finding about the log as a whole, or about a file.
func (l *LogReport) note(kind Kind, file, format string, args ...any) {
	l.add(Finding{Kind: kind, File: file, Summary: fmt.Sprintf(format, args...)})
}

// settle makes the result of all.
func (r *Report) settle() {
	r.Result = OK
	for _, l := range r.Logs {
		if l.Result == Damaged || l.Result == PartlyUnverified && r.Result == OK {
			r.Result = l.Result
		}
	}
}

// Err is the error that the result ends a command with.
func (r *Report) Err() error {
	count := 0
	for _, l := range r.Logs {
		if l.Result == r.Result {
			count++
		}
	}
	switch r.Result {
	case Damaged:
		return cli.Errorf(cli.Corrupt, "check: %d of %d logs are damaged, see the report", count, len(r.Logs))
	case PartlyUnverified:
		return cli.Errorf(cli.Failed, "check: %d of %d logs could not be verified wholly, see the report", count, len(r.Logs))
	}
	return nil
}
