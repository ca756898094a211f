package telemetry

import "github.com/kraftside/kraftside/pipeline"

// Item is a rebalance that is to be exported.
type Item = pipeline.Export

// Outbox holds the rebalances that are to be exported until they were, as a
// pipeline does. It is used by one goroutine.
type Outbox interface {
	// Pending returns the oldest ones, oldest first. They are durable, and the
	// same until they were sent.
	Pending(most int) []Item
	// Sent says that some were exported. If that cannot be kept they may be
	// pending again, and are exported again.
	Sent([]Item) error
}
