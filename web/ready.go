package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// grace is how long the metadata tail may be behind, or without a leader,
// before the sidecar counts as not ready. A quorum that elects a leader, and a
// batch that is under way, are shorter.
const grace = 5 * time.Second

// healthz answers as long as the process does. Kafka being away is no reason
// to be restarted.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) error {
	writeHealthy(w)
	return nil
}

func writeHealthy(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, struct {
		Healthy bool `json:"healthy"`
	}{true})
}

// readyz answers 503 with the reasons while answers would be incomplete or old.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) error {
	writeReady(w, s.reasons(s.o.View()))
	return nil
}

func writeReady(w http.ResponseWriter, reasons []api.Reason) {
	status := http.StatusOK
	if len(reasons) > 0 {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, struct {
		Ready   bool         `json:"ready"`
		Reasons []api.Reason `json:"reasons"`
	}{len(reasons) == 0, reasons})
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	s.o.Metrics.ServeHTTP(w, r)
	return nil
}

// Ready says whether /readyz answers 200.
func (s *Server) Ready() bool { return len(s.reasons(s.o.View())) == 0 }

func (s *Server) reasons(v *pipeline.View) []api.Reason {
	all := append([]api.Reason{}, s.metadataReasons(v)...)
	all = append(all, groupsReasons(v, s.o.Now())...)
	if s.o.Store != nil {
		if st := s.o.Store(); !st.Persisting {
			all = append(all, api.Reason{
				What: "the store keeps nothing: " + st.Reason,
				Do:   "answers go on from memory; once the cause is gone the store is written again by itself",
			})
		}
	}
	if s.o.Reasons != nil {
		all = append(all, s.o.Reasons()...)
	}
	return all
}

func (s *Server) metadataReasons(v *pipeline.View) (all []api.Reason) {
	now := s.o.Now()
	if v.Refused != nil {
		all = append(all, api.Reason{
			What: fmt.Sprintf("the metadata log is read up to offset %d, where a record was refused: %v", v.Image.Provenance().Offset, v.Refused),
			Do:   "upgrade kraftside if the record is of a newer Kafka; metadata.unknown skip goes on without it, and may make answers wrong",
		})
	}
	lag, known := api.MetadataLag(v, now)
	behind := !known || lag > grace
	if p := v.Metadata.Problem; p != nil && (behind || now.Sub(p.Since) > grace) {
		m := api.NewMetadataStatus(v, "", now).Problem
		return append(all, api.Reason{What: m.Message, Do: m.Advice})
	}
	if behind && v.Refused == nil {
		all = append(all, api.Reason{What: behindText(v), Do: "wait; if it lasts, see whether the offset moves, and what the log says"})
	}
	return all
}

func behindText(v *pipeline.View) string {
	switch m := &v.Metadata; {
	case m.Snapshot != nil:
		return fmt.Sprintf("a snapshot of the metadata log is being downloaded: %d of %d bytes", m.Snapshot.Position, m.Snapshot.Size)
	case m.HighWatermark == kafka.UnknownOffset:
		return "how far the metadata log is committed has not been heard yet"
	default:
		return fmt.Sprintf("the metadata log is read up to offset %d, %d records behind", m.Delivered.Offset-1, m.Lag())
	}
}

// groupsReasons has one reason for all partitions that load, and one for each
// problem of some.
func groupsReasons(v *pipeline.View, now time.Time) (all []api.Reason) {
	g := api.NewGroupsStatus(v, "", now)
	switch {
	case g.Problem != nil:
		all = append(all, api.Reason{What: kafka.OffsetsTopic + ": " + g.Problem.Message, Do: cmp.Or(g.Problem.Advice, waitAdvice)})
	case !v.Assignment.Known:
		all = append(all, api.Reason{What: "the partitions of " + kafka.OffsetsTopic + " are not known yet", Do: waitAdvice})
	}
	if r, loading := loadingReason(g.Partitions); loading {
		all = append(all, r)
	}
	return append(all, problemReasons(g.Partitions)...)
}

const waitAdvice = "wait; it is tried again"

func loadingReason(partitions []api.OffsetsPartition) (api.Reason, bool) {
	loading, percent := 0, 0
	var longest *int64
	for _, p := range partitions {
		if !p.Loading {
			continue
		}
		loading++
		percent += *p.Percent
		if left := p.RemainingMs; left != nil && (longest == nil || *left > *longest) {
			longest = left
		}
	}
	if loading == 0 {
		return api.Reason{}, false
	}
	return api.Reason{
		What: fmt.Sprintf("%d of %d partitions of %s are loading: %s", loading, len(partitions), kafka.OffsetsTopic, loadText(percent/loading, longest)),
		Do:   "wait; until then their groups are left out of answers, or shown as they were",
	}, true
}

func problemReasons(partitions []api.OffsetsPartition) (all []api.Reason) {
	affected := make(map[api.Reason][]int32)
	for _, p := range partitions {
		if p.Problem != nil {
			r := api.Reason{What: p.Problem.Message, Do: cmp.Or(p.Problem.Advice, waitAdvice)}
			affected[r] = append(affected[r], p.Partition)
		}
	}
	for r, numbers := range affected {
		all = append(all, api.Reason{What: fmt.Sprintf("%s, partitions %v: %s", kafka.OffsetsTopic, numbers, r.What), Do: r.Do})
	}
	slices.SortFunc(all, func(a, b api.Reason) int { return cmp.Compare(a.What, b.What) })
	return all
}

// loadText is how far a load is.
func loadText(percent int, remainingMs *int64) string {
	if remainingMs == nil {
		return fmt.Sprintf("%d %% read", percent)
	}
	left := (time.Duration(*remainingMs) * time.Millisecond).Round(time.Second)
	return fmt.Sprintf("%d %% read, about %v left", percent, left)
}
