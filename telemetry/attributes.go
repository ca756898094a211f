package telemetry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// Attributes for which OpenTelemetry has no convention. docs/traces.md says
// what they mean.
const (
	clusterIDKey   attribute.Key = "kraftside.cluster.id"
	clusterNameKey attribute.Key = "kraftside.cluster.name"
	groupTypeKey   attribute.Key = "kraftside.group.type"
	summaryKey     attribute.Key = "kraftside.summary" // a sentence

	rebalanceIDKey    attribute.Key = "kraftside.rebalance.id"
	stateKey          attribute.Key = "kraftside.rebalance.state"
	epochKey          attribute.Key = "kraftside.rebalance.epoch"
	previousEpochKey  attribute.Key = "kraftside.rebalance.previous_epoch"
	supersededByKey   attribute.Key = "kraftside.rebalance.superseded_by"
	durationKey       attribute.Key = "kraftside.rebalance.duration_ms"
	startedAtKey      attribute.Key = "kraftside.rebalance.started_at"
	completedAtKey    attribute.Key = "kraftside.rebalance.completed_at"
	movedKey          attribute.Key = "kraftside.rebalance.moved"
	membersKey        attribute.Key = "kraftside.rebalance.members"
	membersOmittedKey attribute.Key = "kraftside.rebalance.members_omitted"

	causeKindKey       attribute.Key = "kraftside.cause.kind"
	causeConfidenceKey attribute.Key = "kraftside.cause.confidence"
	causeReasonKey     attribute.Key = "kraftside.cause.reason"
	causeRecordsKey    attribute.Key = "kraftside.cause.records"
	causesKey          attribute.Key = "kraftside.causes"
	causesOmittedKey   attribute.Key = "kraftside.causes_omitted"
	changesKey         attribute.Key = "kraftside.changes"
	triggerKindKey     attribute.Key = "kraftside.trigger.kind"

	recordLogKey       attribute.Key = "kraftside.record.log"
	recordTypeKey      attribute.Key = "kraftside.record.type"
	recordDetailKey    attribute.Key = "kraftside.record.detail"
	recordTimestampKey attribute.Key = "kraftside.record.timestamp"
	recordAgeKey       attribute.Key = "kraftside.record.age_ms"

	hashBeforeKey   attribute.Key = "kraftside.hash.before"
	hashAfterKey    attribute.Key = "kraftside.hash.after"
	hashComputedKey attribute.Key = "kraftside.hash.computed"
	hashVerdictKey  attribute.Key = "kraftside.hash.verdict"

	memberIDKey         attribute.Key = "kraftside.member.id"
	memberInstanceIDKey attribute.Key = "kraftside.member.instance_id"
	memberStateKey      attribute.Key = "kraftside.member.state"
	memberJoinedKey     attribute.Key = "kraftside.member.joined"
	gainedKey           attribute.Key = "kraftside.member.gained"
	releasedKey         attribute.Key = "kraftside.member.released"
	waitedForKey        attribute.Key = "kraftside.member.waited_for"

	openKey         attribute.Key = "kraftside.open"
	clampedKey      attribute.Key = "kraftside.clock.clamped"
	clampedStartKey attribute.Key = "kraftside.clock.start"
	clampedEndKey   attribute.Key = "kraftside.clock.end"
)

// What one attribute holds at most, so that a request stays far below the 4 MiB
// that receivers take, whatever names a cluster has.
const (
	maxText  = 512 // bytes
	maxTexts = 16
)

// shown is a text as it leaves the process: escaped, since a name may hold
// anything, and not too long.
func shown(s string) string { return cut(cli.Escape(cut(s))) }

// cut is at most maxText bytes of a text, and a sign that there is more.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func str(key attribute.Key, s string) attribute.KeyValue { return key.String(shown(s)) }

// strs is a list that says how many more there are.
func strs(key attribute.Key, list []string) attribute.KeyValue {
	out := make([]string, 0, maxTexts+1)
	for _, s := range list[:min(len(list), maxTexts)] {
		out = append(out, shown(s))
	}
	if more := len(list) - maxTexts; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return key.StringSlice(out)
}

// timestamp is a record's time as text.
func timestamp(ms int64) string { return at(ms).Format("2006-01-02T15:04:05.000Z07:00") }

func hash(key attribute.Key, h int64) attribute.KeyValue {
	return key.String(strconv.FormatInt(h, 10)) // a JSON number would lose digits of it
}

// recordAttributes say which record something rests on.
func recordAttributes(e *rebalance.Evidence) []attribute.KeyValue {
	out := []attribute.KeyValue{
		str(recordLogKey, e.Log), str(recordTypeKey, e.Record), semconv.MessagingKafkaOffset(int(e.Offset)),
	}
	if e.Timestamp > 0 {
		out = append(out, recordTimestampKey.String(timestamp(e.Timestamp)))
	}
	if e.Detail != "" {
		out = append(out, str(recordDetailKey, e.Detail))
	}
	return out
}

func recordText(e *rebalance.Evidence) string {
	return fmt.Sprintf("%s offset %d: %s", e.Log, e.Offset, e.Record)
}

// topicNames are the names that the causes of a rebalance have of topics. No
// others are used: whether the name of a topic can be found depends on when one
// looks, and every look has to give the same bytes.
type topicNames map[kafka.TopicID]string

func namesOf(r *rebalance.Rebalance) topicNames {
	n := make(topicNames)
	for i := range r.Causes {
		if c := &r.Causes[i]; c.Topic != "" && !c.TopicID.IsZero() {
			n[c.TopicID] = c.Topic
		}
	}
	return n
}

// texts are partitions as one text a topic: "orders 0,1,2".
func (n topicNames) texts(list []groups.TopicPartitions) (out []string) {
	for i := range list {
		t := &list[i]
		name := t.Topic
		if name == "" {
			name = n[t.TopicID]
		}
		if name == "" {
			name = t.TopicID.String()
		}
		numbers := make([]string, 0, min(len(t.Partitions), maxText))
		for _, p := range t.Partitions[:min(len(t.Partitions), maxText)] {
			numbers = append(numbers, strconv.Itoa(int(p)))
		}
		out = append(out, name+" "+strings.Join(numbers, ","))
	}
	return out
}

// without are the partitions of a list that are not in another.
func without(list, other []groups.TopicPartitions) (out []groups.TopicPartitions) {
	type topic struct {
		id   kafka.TopicID
		name string
	}
	in := make(map[topic][]int32)
	for i := range other {
		t := topic{other[i].TopicID, other[i].Topic}
		in[t] = append(in[t], other[i].Partitions...)
	}
	for _, sorted := range in {
		slices.Sort(sorted)
	}
	for i := range list {
		t := groups.TopicPartitions{TopicID: list[i].TopicID, Topic: list[i].Topic}
		for _, p := range list[i].Partitions {
			if _, there := slices.BinarySearch(in[topic{t.TopicID, t.Topic}], p); !there {
				t.Partitions = append(t.Partitions, p)
			}
		}
		if len(t.Partitions) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// seconds is a duration in words, for a status.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s" }
