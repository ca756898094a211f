package groups

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// This file writes records for tests: from Go values, and from lines such as
//
//	@12 ts=1000 pid=7 1/3 g orders 0 {"offset": 42}
//	5 g m1 null
//
// which are offset, timestamp and producer id (with defaults), record type and
// value version, the fields of the key, and the value as Kafka's dump tool
// would print it. In a value "$1" is a topic id, "$sub a b" and "$assign a 0 1"
// are what a classic consumer sends and gets.

// newRecord returns the empty structs of a record type.
var newRecord = map[record.Type]func() (record.Key, record.Value){
	0: func() (record.Key, record.Value) {
		return &record.LegacyOffsetCommitKey{}, &record.LegacyOffsetCommitValue{}
	},
	1: func() (record.Key, record.Value) { return &record.OffsetCommitKey{}, &record.OffsetCommitValue{} },
	2: func() (record.Key, record.Value) { return &record.GroupMetadataKey{}, &record.GroupMetadataValue{} },
	3: func() (record.Key, record.Value) {
		return &record.ConsumerGroupMetadataKey{}, &record.ConsumerGroupMetadataValue{}
	},
	4: func() (record.Key, record.Value) {
		return &record.ConsumerGroupPartitionMetadataKey{}, &record.ConsumerGroupPartitionMetadataValue{}
	},
	5: func() (record.Key, record.Value) {
		return &record.ConsumerGroupMemberMetadataKey{}, &record.ConsumerGroupMemberMetadataValue{}
	},
	6: func() (record.Key, record.Value) {
		return &record.ConsumerGroupTargetAssignmentMetadataKey{}, &record.ConsumerGroupTargetAssignmentMetadataValue{}
	},
	7: func() (record.Key, record.Value) {
		return &record.ConsumerGroupTargetAssignmentMemberKey{}, &record.ConsumerGroupTargetAssignmentMemberValue{}
	},
	8: func() (record.Key, record.Value) {
		return &record.ConsumerGroupCurrentMemberAssignmentKey{}, &record.ConsumerGroupCurrentMemberAssignmentValue{}
	},
	9: func() (record.Key, record.Value) {
		return &record.ShareGroupPartitionMetadataKey{}, &record.ShareGroupPartitionMetadataValue{}
	},
	10: func() (record.Key, record.Value) {
		return &record.ShareGroupMemberMetadataKey{}, &record.ShareGroupMemberMetadataValue{}
	},
	11: func() (record.Key, record.Value) {
		return &record.ShareGroupMetadataKey{}, &record.ShareGroupMetadataValue{}
	},
	12: func() (record.Key, record.Value) {
		return &record.ShareGroupTargetAssignmentMetadataKey{}, &record.ShareGroupTargetAssignmentMetadataValue{}
	},
	13: func() (record.Key, record.Value) {
		return &record.ShareGroupTargetAssignmentMemberKey{}, &record.ShareGroupTargetAssignmentMemberValue{}
	},
	14: func() (record.Key, record.Value) {
		return &record.ShareGroupCurrentMemberAssignmentKey{}, &record.ShareGroupCurrentMemberAssignmentValue{}
	},
	15: func() (record.Key, record.Value) {
		return &record.ShareGroupStatePartitionMetadataKey{}, &record.ShareGroupStatePartitionMetadataValue{}
	},
	16: func() (record.Key, record.Value) {
		return &record.ConsumerGroupRegularExpressionKey{}, &record.ConsumerGroupRegularExpressionValue{}
	},
	17: func() (record.Key, record.Value) {
		return &record.StreamsGroupMetadataKey{}, &record.StreamsGroupMetadataValue{}
	},
	19: func() (record.Key, record.Value) {
		return &record.StreamsGroupMemberMetadataKey{}, &record.StreamsGroupMemberMetadataValue{}
	},
	20: func() (record.Key, record.Value) {
		return &record.StreamsGroupTargetAssignmentMetadataKey{}, &record.StreamsGroupTargetAssignmentMetadataValue{}
	},
	21: func() (record.Key, record.Value) {
		return &record.StreamsGroupTargetAssignmentMemberKey{}, &record.StreamsGroupTargetAssignmentMemberValue{}
	},
	22: func() (record.Key, record.Value) {
		return &record.StreamsGroupCurrentMemberAssignmentKey{}, &record.StreamsGroupCurrentMemberAssignmentValue{}
	},
	23: func() (record.Key, record.Value) {
		return &record.StreamsGroupTopologyKey{}, &record.StreamsGroupTopologyValue{}
	},
}

func keyBytes(tb testing.TB, key record.Key) []byte {
	b, err := record.AppendKey(nil, key)
	require.NoError(tb, err)
	return b
}

func valueBytes(tb testing.TB, value record.Value, version int16) []byte {
	b, err := record.AppendValue(nil, value, version)
	require.NoError(tb, err)
	return b
}

// lineReader reads records from lines; offsets go on from one to the next.
type lineReader struct {
	next kafka.Offset
}

// read parses a line. A line such as "commit 7" or "abort 7" is the end of a
// transaction.
func (l *lineReader) read(tb testing.TB, line string) event {
	words := strings.Fields(line)
	if words[0] == "commit" || words[0] == "abort" {
		pid, err := strconv.ParseInt(words[1], 10, 64)
		require.NoError(tb, err, line)
		l.next++
		return event{end: true, commit: words[0] == "commit", Record: Record{ProducerID: pid}}
	}
	r := Record{Offset: l.next, Timestamp: 1000 + int64(l.next), ProducerID: -1}
	for ; ; words = words[1:] {
		switch name, number := cutPrefix(words[0], "@", "ts=", "pid="); name {
		case "@":
			r.Offset = kafka.Offset(number)
			r.Timestamp = 1000 + number
		case "ts=":
			r.Timestamp = number
		case "pid=":
			r.ProducerID = number
		default:
			l.next = r.Offset + 1
			r.Key, r.Value = parseRecord(tb, line, words)
			return event{Record: r}
		}
	}
}

func cutPrefix(word string, prefixes ...string) (string, int64) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(word, p); ok {
			n, err := strconv.ParseInt(rest, 10, 64)
			if err == nil {
				return p, n
			}
		}
	}
	return "", 0
}

func parseRecord(tb testing.TB, line string, words []string) (key, value []byte) {
	if words[0] == "raw" {
		return unhex(tb, words[1]), unhex(tb, words[2])
	}
	number, version, _ := strings.Cut(words[0], "/")
	n, err := strconv.Atoi(number)
	require.NoError(tb, err, line)
	require.Contains(tb, newRecord, record.Type(n), line)
	k, v := newRecord[record.Type(n)]()
	fields := reflect.ValueOf(k).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.String {
			f.SetString(words[1+i])
		} else {
			p, err := strconv.ParseInt(words[1+i], 10, 32)
			require.NoError(tb, err, line)
			f.SetInt(p)
		}
	}
	rest := strings.Join(words[1+fields.NumField():], " ")
	if rest == "null" {
		return keyBytes(tb, k), nil
	}
	v.Reset()
	if member, ok := v.(*record.ConsumerGroupMemberMetadataValue); ok {
		member.ClassicMemberMetadata = nil // what Kafka writes, and not the default
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(expand(tb, rest))))
	dec.DisallowUnknownFields()
	require.NoError(tb, dec.Decode(v), line)
	at := v.Type().HighestVersion()
	if version != "" {
		parsed, err := strconv.ParseInt(version, 10, 16)
		require.NoError(tb, err, line)
		at = int16(parsed)
	}
	return keyBytes(tb, k), valueBytes(tb, v, at)
}

func unhex(tb testing.TB, s string) []byte {
	switch s {
	case "null":
		return nil
	case "empty":
		return []byte{}
	}
	b, err := hex.DecodeString(s)
	require.NoError(tb, err)
	return b
}

var macro = regexp.MustCompile(`"\$[^"]*"`)

// expand replaces the texts that begin with a dollar.
func expand(tb testing.TB, text string) string {
	return macro.ReplaceAllStringFunc(text, func(m string) string {
		words := strings.Fields(strings.Trim(m, `"$`))
		switch words[0] {
		case "sub":
			m = encodeJSON(tb, subscriptionBytes(tb, words[1:]...))
		case "assign":
			m = encodeJSON(tb, assignmentBytes(tb, words[1:]...))
		default:
			n, err := strconv.Atoi(words[0])
			require.NoError(tb, err, m)
			m = encodeJSON(tb, topicID(n))
		}
		return m
	})
}

func encodeJSON(tb testing.TB, v any) string {
	b, err := json.Marshal(v)
	require.NoError(tb, err)
	return string(b)
}

func topicID(n int) kafka.TopicID { return kafka.NewUUID(0, uint64(n)) }

// subscriptionBytes is the subscription of a classic consumer, version 3. A
// word such as rack=a is its rack.
func subscriptionBytes(tb testing.TB, words ...string) []byte {
	var v record.ConsumerProtocolSubscription
	v.GenerationID = -1
	for _, w := range words {
		if rack, ok := strings.CutPrefix(w, "rack="); ok {
			v.RackID = &rack
		} else {
			v.Topics = append(v.Topics, w)
		}
	}
	b, err := v.Append(wire.AppendInt16(nil, 3), 3)
	require.NoError(tb, err)
	return b
}

// assignmentBytes is the assignment of a classic consumer: topics, each with
// its partitions behind it.
func assignmentBytes(tb testing.TB, words ...string) []byte {
	var v record.ConsumerProtocolAssignment
	for _, w := range words {
		if p, err := strconv.Atoi(w); err == nil {
			last := &v.AssignedPartitions[len(v.AssignedPartitions)-1]
			last.Partitions = append(last.Partitions, int32(p))
		} else {
			v.AssignedPartitions = append(v.AssignedPartitions, record.ProtocolTopicPartitions{Topic: w})
		}
	}
	b, err := v.Append(wire.AppendInt16(nil, 1), 1)
	require.NoError(tb, err)
	return b
}
