package admin

import (
	"sync"
	"time"
)

// Limits on what is logged of clients, so that one that does harm on purpose
// cannot fill a disk with it.
const (
	complaintsAtOnce = 20
	complaintsEvery  = 10 * time.Second
)

// complaints counts what is logged. It may be used from any goroutine.
type complaints struct {
	mu           sync.Mutex
	since        time.Time
	told, untold int
}

// next says whether one more may be logged, and how many could not be since the
// last one that was.
func (c *complaints) next(now time.Time) (tell bool, untold int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) >= complaintsEvery {
		c.since, c.told = now, 0
	}
	if c.told == complaintsAtOnce {
		c.untold++
		return false, 0
	}
	c.told++
	untold, c.untold = c.untold, 0
	return true, untold
}

// complain logs what is wrong with a connection.
func (s *Server) complain(message string, fields ...any) {
	tell, untold := s.complaints.next(s.o.Now())
	if !tell {
		return
	}
	if untold > 0 {
		fields = append(fields, "more.not.logged", untold)
	}
	s.o.Log.Warn("admin endpoint: "+message, fields...)
}
