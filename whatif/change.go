package whatif

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
)

var (
	// ErrInvalid means that a change cannot be made: a field is missing or
	// makes no sense, or the cluster is as it asks for already.
	ErrInvalid = errors.New("not a change that can be made")
	// ErrNotFound means that a change names a topic, a partition or a broker
	// that is not there.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge means that a plan is beyond what is predicted at once; its
	// parts are.
	ErrTooLarge = errors.New("the plan is too large; ask for its parts")
)

// Kind is what a change does.
type Kind string

// The kinds of changes, and the fields of Change that each takes.
const (
	Reassign         Kind = "reassign"         // Plan
	AddPartitions    Kind = "addPartitions"    // Topic, Partitions
	CreateTopic      Kind = "createTopic"      // Topic, Partitions
	DeleteTopic      Kind = "deleteTopic"      // Topic
	Rack             Kind = "rack"             // Broker, Rack
	RestartBroker    Kind = "restartBroker"    // Broker
	UnregisterBroker Kind = "unregisterBroker" // Broker
	MoveCoordinator  Kind = "moveCoordinator"  // Partition, Broker
	Upgrade          Kind = "upgrade"          // From
)

var kinds = []string{
	string(Reassign), string(AddPartitions), string(CreateTopic), string(DeleteTopic), string(Rack),
	string(RestartBroker), string(UnregisterBroker), string(MoveCoordinator), string(Upgrade),
}

// Change is one planned change. Fields that its kind does not take are left
// out.
type Change struct {
	Kind  Kind   `json:"kind"`
	Topic string `json:"topic,omitempty"`
	// Partitions is the number of partitions that the topic is to have.
	Partitions int32         `json:"partitions,omitempty"`
	Broker     *kafka.NodeID `json:"broker,omitempty"`
	// Rack is what the broker comes back with; empty is none.
	Rack *string `json:"rack,omitempty"`
	// Partition is one of __consumer_offsets.
	Partition *int32 `json:"partition,omitempty"`
	// From is the release that is left: 4.0.
	From string `json:"from,omitempty"`
	// Plan is the content of a file as kafka-reassign-partitions takes it.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// ChangeError says which change of a plan is at fault.
type ChangeError struct {
	Index int // from 0
	Kind  Kind
	Err   error // wraps ErrInvalid or ErrNotFound
}

func (e *ChangeError) Error() string {
	return fmt.Sprintf("change %d (%.40q): %v", e.Index+1, string(e.Kind), e.Err)
}

// Unwrap gives errors.Is the reason.
func (e *ChangeError) Unwrap() error { return e.Err }

// problem is a message for one of the sentinels, which stands for no text.
type problem struct {
	message string
	is      error
}

func (p *problem) Error() string { return p.message }

func (p *problem) Unwrap() error { return p.is }

func invalid(format string, args ...any) error {
	return &problem{fmt.Sprintf(format, args...), ErrInvalid}
}

func notFound(format string, args ...any) error {
	return &problem{fmt.Sprintf(format, args...), ErrNotFound}
}
