package telemetry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// maxRecords is how many records before a bump its trace has.
const maxRecords = 32

// leading is a record that led to the bump.
type leading struct {
	*rebalance.Evidence
	trigger *rebalance.Trigger // nil: it is a record of a cause
	causes  []*rebalance.Cause // that rest on it
}

// leading are the records of the metadata log that causes rest on, and those of
// triggers, in the order of the causes. Several causes may rest on one record.
func (b *builder) leading() (out []leading) {
	add := func(e *rebalance.Evidence, t *rebalance.Trigger, c *rebalance.Cause) {
		same := func(l leading) bool {
			return l.Log == e.Log && l.Offset == e.Offset && (l.trigger == nil) == (t == nil)
		}
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].causes = append(out[i].causes, c)
			return
		}
		if len(out) < maxRecords {
			out = append(out, leading{e, t, []*rebalance.Cause{c}})
		}
	}
	for i := range b.r.Causes {
		c := &b.r.Causes[i]
		for j := range c.Evidence {
			if c.Evidence[j].Log == rebalance.MetadataLog {
				add(&c.Evidence[j], nil, c)
			}
		}
		if c.Trigger == nil {
			continue
		}
		for j := range c.Trigger.Evidence {
			add(&c.Trigger.Evidence[j], c.Trigger, c)
		}
	}
	return out
}

// records adds what led to the bump: a span from each record to the bump, which
// is how long it took until the coordinator acted on it, or an event if that is
// too long ago, or not known.
func (b *builder) records() {
	for _, one := range b.leading() {
		name, role := "metadata change", "change/"
		if one.trigger != nil {
			name, role = "trigger", "trigger/"
		}
		attributes := append(recordAttributes(one.Evidence), b.leadingFacts(&one)...)
		if b.isNear(one.Evidence) {
			if one.Timestamp > b.r.StartedAt { // by a clock that is ahead of the coordinator's
				attributes = append(attributes, clampedKey.Bool(true), clampedStartKey.String(timestamp(one.Timestamp)))
			}
			b.child(role+recordRole(one.Evidence), name, min(one.Timestamp, b.r.StartedAt), b.r.StartedAt, attributes...)
			continue
		}
		if one.Timestamp > 0 {
			attributes = append(attributes, recordAgeKey.Int64(limited(b.r.StartedAt)-limited(one.Timestamp)))
		}
		b.spans[0].event(name, b.spans[0].from, attributes...)
	}
}

func recordRole(e *rebalance.Evidence) string {
	return e.Log + "/" + strconv.FormatInt(int64(e.Offset), 10)
}

func (b *builder) leadingFacts(one *leading) []attribute.KeyValue {
	if one.trigger != nil {
		return []attribute.KeyValue{str(triggerKindKey, string(one.trigger.Kind)), str(summaryKey, one.trigger.Summary)}
	}
	first := one.causes[0]
	out := []attribute.KeyValue{str(causeKindKey, string(first.Kind)), str(summaryKey, first.Summary)}
	var changes []string
	topic := first.Topic
	for _, c := range one.causes {
		if c.Topic != topic {
			topic = ""
		}
		if text := changeText(c); text != "" {
			changes = append(changes, text)
		}
	}
	if topic != "" {
		out = append(out, str(semconv.MessagingDestinationNameKey, topic))
	}
	if len(changes) > 0 {
		out = append(out, strs(changesKey, changes))
	}
	return out
}

// changeText is what a cause says became of a topic.
func changeText(c *rebalance.Cause) string {
	if c.Topic == "" {
		return ""
	}
	what := string(c.Field) + " of " + c.Topic
	if c.Partition >= 0 {
		what += fmt.Sprintf("-%d", c.Partition)
	}
	return what + ": " + orNone(c.Before) + " -> " + orNone(c.After)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}

// bump adds the record that raised the epoch, and the hash in it.
func (b *builder) bump() {
	r := b.r
	record := []attribute.KeyValue{
		semconv.MessagingDestinationName(kafka.OffsetsTopic),
		semconv.MessagingDestinationPartitionID(strconv.Itoa(int(r.ID.Partition))),
		semconv.MessagingKafkaOffset(int(r.ID.Offset)),
	}
	if h := r.Hash; h != nil && (!h.HadBefore || h.Before != h.After) {
		b.child("hash", "hash changed", r.StartedAt, r.StartedAt, append(b.hashFacts(h), record...)...)
	}
	b.child("bump", "epoch bump", r.StartedAt, r.StartedAt, append(record,
		epochKey.Int(int(r.Epoch)), previousEpochKey.Int(int(r.PreviousEpoch)), str(summaryKey, sentence(r)))...)
}

func (b *builder) hashFacts(h *rebalance.Hash) (out []attribute.KeyValue) {
	if h.HadBefore {
		out = append(out, hash(hashBeforeKey, h.Before))
	}
	out = append(out, hash(hashAfterKey, h.After))
	if b.r.Settled {
		out = append(out, hash(hashComputedKey, h.Computed), str(hashVerdictKey, string(h.Verdict)))
	}
	return out
}
