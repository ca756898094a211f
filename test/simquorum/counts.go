package simquorum

import (
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Counts is what a controller saw: when.
type Counts struct {
	// Requests are Fetch and FetchSnapshot.
	Requests []time.Time
	// Connections counts attempts, refused ones too.
	Connections []time.Time
	// Foreign are the API keys of requests that a controller has no use for.
	Foreign []int16
}

// Seen is what a controller saw so far.
func (q *Quorum) Seen(id kafka.NodeID) Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.controllers[id].seen
	return Counts{
		Requests:    append([]time.Time(nil), s.Requests...),
		Connections: append([]time.Time(nil), s.Connections...),
		Foreign:     append([]int16(nil), s.Foreign...),
	}
}

// MostIn is the largest number of times that lie within any span of length d,
// both ends included.
func MostIn(times []time.Time, d time.Duration) int {
	most, first := 0, 0
	for i := range times {
		for times[i].Sub(times[first]) > d {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
