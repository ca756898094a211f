package telemetry

import "github.com/kraftside/kraftside/rebalance"

// Item is a rebalance that is to be exported.
type Item struct {
	Rebalance *rebalance.Rebalance
	// Incomplete: it is still open after the configured time, and is exported
	// as it is.
	Incomplete bool
	// Completion: it was exported as incomplete, and is over now.
	Completion bool
}

// Outbox holds the rebalances that are to be exported until they were. It is
// used by one goroutine.
type Outbox interface {
	// Pending returns the oldest ones, oldest first. They are durable, and the
	// same until they were sent.
	Pending(most int) []Item
	// Sent says that some were exported. If that cannot be kept they may be
	// pending again, and are exported again.
	Sent([]Item) error
}
