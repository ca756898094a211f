package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Reassignment is the content of a file as kafka-reassign-partitions takes it.
type Reassignment struct {
	Version    *int          `json:"version"`
	Partitions []NewReplicas `json:"partitions"`
}

// NewReplicas are the replicas that a partition is to have, in order.
type NewReplicas struct {
	Topic     string         `json:"topic"`
	Partition *int32         `json:"partition"`
	Replicas  []kafka.NodeID `json:"replicas"`
	// LogDirs are folders, which are in no metadata.
	LogDirs []string `json:"log_dirs"`
}

// ParseReassignment reads such content, and checks what can be checked without
// a cluster. The error wraps ErrInvalid and has line and column, or the place
// in the list. A field that is not known is passed over, as Kafka's tool does.
func ParseReassignment(content []byte) (*Reassignment, error) {
	in := json.NewDecoder(bytes.NewReader(content))
	r := new(Reassignment)
	if err := in.Decode(r); err != nil {
		return nil, invalid("%s: %s", position(content, errorOffset(err, len(content))), reason(err))
	}
	if rest := bytes.TrimSpace(content[in.InputOffset():]); len(rest) > 0 {
		return nil, invalid("%s: there is something after the end of the plan", position(content, int64(len(content)-len(rest))+1))
	}
	return r, r.check()
}

// errorOffset is the number of bytes that were read of so many when a decoder
// failed; one more if it wanted more.
func errorOffset(err error, size int) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &kind):
		return kind.Offset
	}
	return int64(size) + 1
}

// position is where the last of the given number of bytes stands.
func position(content []byte, offset int64) string {
	read := content[:min(max(offset-1, 0), int64(len(content)))]
	line := 1 + bytes.Count(read, []byte{'\n'})
	return fmt.Sprintf("line %d, column %d", line, len(read)-bytes.LastIndexByte(read, '\n'))
}

func reason(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Sprintf("%s cannot be a %s", orPlan(kind.Field), kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the plan ends too early"
	}
	return err.Error()
}

func orPlan(field string) string {
	if field == "" {
		return "the plan"
	}
	return field
}

func (r *Reassignment) check() error {
	switch {
	case r.Version == nil:
		return invalid("the plan has no version; want \"version\":1")
	case *r.Version != 1:
		return invalid("the plan has version %d; only 1 is known", *r.Version)
	case len(r.Partitions) == 0:
		return invalid("the plan has no partitions")
	}
	type key struct {
		topic     string
		partition int32
	}
	seen := make(map[key]int, len(r.Partitions))
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if err := p.check(); err != nil {
			return invalid("partitions[%d]: %v", i, err)
		}
		k := key{p.Topic, *p.Partition}
		if first, twice := seen[k]; twice {
			return invalid("partitions[%d]: partition %d of topic %.300q is in partitions[%d] already", i, k.partition, k.topic, first)
		}
		seen[k] = i
	}
	return nil
}

func (p *NewReplicas) check() error {
	switch {
	case p.Topic == "":
		return errors.New("there is no topic")
	case p.Partition == nil:
		return fmt.Errorf("topic %.300q: there is no partition", p.Topic)
	}
	where := fmt.Sprintf("partition %d of topic %.300q", *p.Partition, p.Topic)
	switch {
	case len(p.Replicas) == 0:
		return fmt.Errorf("%s has no replicas", where)
	case len(p.LogDirs) > 0 && len(p.LogDirs) != len(p.Replicas):
		return fmt.Errorf("%s has %d replicas and %d log_dirs", where, len(p.Replicas), len(p.LogDirs))
	}
	sorted := slices.Sorted(slices.Values(p.Replicas))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return fmt.Errorf("%s has broker %d twice in its replicas", where, sorted[i])
		}
	}
	return nil
}
