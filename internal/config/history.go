package config

import (
	"fmt"
	"time"
)

// History is how much is kept of what happened.
type History struct {
	MaxAge time.Duration // 0: no limit but the number
}

// leastMaxAge is longer than a member may be silent, which is part of what a
// rebalance is explained with.
const leastMaxAge = time.Hour

func (h *History) settings() []setting {
	return []setting{
		{"max-age", duration(&h.MaxAge), "how long changes of the metadata and rebalances are kept: at least 1h, or 0 for no limit of age. " +
			"The newest 10,000 of each are kept at most, and 50 rebalances of a group"},
	}
}

func (h *History) validate() error {
	if h.MaxAge != 0 && h.MaxAge < leastMaxAge {
		return fmt.Errorf("history.max-age: %v is too short to explain rebalances with; set at least %v, or 0 for no limit", h.MaxAge, leastMaxAge)
	}
	return nil
}
