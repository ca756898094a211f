package rebalance

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
)

var subPattern = regexp.MustCompile(`"\$sub ([^"]*)"`)

// recordTypes makes the empty key and value of a record type.
var recordTypes = map[string]func() (record.Key, record.Value){
	"1": func() (record.Key, record.Value) { return &record.OffsetCommitKey{}, &record.OffsetCommitValue{} },
	"2": func() (record.Key, record.Value) { return &record.GroupMetadataKey{}, &record.GroupMetadataValue{} },
	"3": func() (record.Key, record.Value) {
		return &record.ConsumerGroupMetadataKey{}, &record.ConsumerGroupMetadataValue{}
	},
	"4": func() (record.Key, record.Value) {
		return &record.ConsumerGroupPartitionMetadataKey{}, &record.ConsumerGroupPartitionMetadataValue{}
	},
	"5": func() (record.Key, record.Value) {
		return &record.ConsumerGroupMemberMetadataKey{}, &record.ConsumerGroupMemberMetadataValue{}
	},
	"6": func() (record.Key, record.Value) {
		return &record.ConsumerGroupTargetAssignmentMetadataKey{}, &record.ConsumerGroupTargetAssignmentMetadataValue{}
	},
	"7": func() (record.Key, record.Value) {
		return &record.ConsumerGroupTargetAssignmentMemberKey{}, &record.ConsumerGroupTargetAssignmentMemberValue{}
	},
	"8": func() (record.Key, record.Value) {
		return &record.ConsumerGroupCurrentMemberAssignmentKey{}, &record.ConsumerGroupCurrentMemberAssignmentValue{}
	},
	"10": func() (record.Key, record.Value) {
		return &record.ShareGroupMemberMetadataKey{}, &record.ShareGroupMemberMetadataValue{}
	},
	"11": func() (record.Key, record.Value) {
		return &record.ShareGroupMetadataKey{}, &record.ShareGroupMetadataValue{}
	},
	"12": func() (record.Key, record.Value) {
		return &record.ShareGroupTargetAssignmentMetadataKey{}, &record.ShareGroupTargetAssignmentMetadataValue{}
	},
	"13": func() (record.Key, record.Value) {
		return &record.ShareGroupTargetAssignmentMemberKey{}, &record.ShareGroupTargetAssignmentMemberValue{}
	},
	"14": func() (record.Key, record.Value) {
		return &record.ShareGroupCurrentMemberAssignmentKey{}, &record.ShareGroupCurrentMemberAssignmentValue{}
	},
	"15": func() (record.Key, record.Value) {
		return &record.ShareGroupStatePartitionMetadataKey{}, &record.ShareGroupStatePartitionMetadataValue{}
	},
	"16": func() (record.Key, record.Value) {
		return &record.ConsumerGroupRegularExpressionKey{}, &record.ConsumerGroupRegularExpressionValue{}
	},
	"17": func() (record.Key, record.Value) {
		return &record.StreamsGroupMetadataKey{}, &record.StreamsGroupMetadataValue{}
	},
	"19": func() (record.Key, record.Value) {
		return &record.StreamsGroupMemberMetadataKey{}, &record.StreamsGroupMemberMetadataValue{}
	},
	"20": func() (record.Key, record.Value) {
		return &record.StreamsGroupTargetAssignmentMetadataKey{}, &record.StreamsGroupTargetAssignmentMetadataValue{}
	},
	"21": func() (record.Key, record.Value) {
		return &record.StreamsGroupTargetAssignmentMemberKey{}, &record.StreamsGroupTargetAssignmentMemberValue{}
	},
	"22": func() (record.Key, record.Value) {
		return &record.StreamsGroupCurrentMemberAssignmentKey{}, &record.StreamsGroupCurrentMemberAssignmentValue{}
	},
	"23": func() (record.Key, record.Value) {
		return &record.StreamsGroupTopologyKey{}, &record.StreamsGroupTopologyValue{}
	},
}

func parseRecord(t testing.TB, line string) (key, value []byte) {
	words := strings.Fields(line)
	require.Contains(t, recordTypes, words[0], line)
	k, v := recordTypes[words[0]]()
	fields := reflect.ValueOf(k).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.String {
			f.SetString(words[1+i])
		} else {
			n, err := strconv.ParseInt(words[1+i], 10, 32)
			require.NoError(t, err, line)
			f.SetInt(n)
		}
	}
	key, err := record.AppendKey(nil, k)
	require.NoError(t, err, line)
	rest := strings.Join(words[1+fields.NumField():], " ")
	if rest == "null" {
		return key, nil
	}
	v.Reset()
	if member, ok := v.(*record.ConsumerGroupMemberMetadataValue); ok {
		member.ClassicMemberMetadata = nil // what Kafka writes, and not the default
	}
	in := json.NewDecoder(bytes.NewReader([]byte(expandSubscriptions(t, rest))))
	in.DisallowUnknownFields()
	require.NoError(t, in.Decode(v), line)
	value, err = record.AppendValue(nil, v, v.Type().HighestVersion())
	require.NoError(t, err, line)
	return key, value
}

// expandSubscriptions encodes what a classic consumer sends.
func expandSubscriptions(t testing.TB, text string) string {
	return subPattern.ReplaceAllStringFunc(text, func(m string) string {
		var v record.ConsumerProtocolSubscription
		v.GenerationID, v.Topics = -1, strings.Fields(subPattern.FindStringSubmatch(m)[1])
		b, err := v.Append([]byte{0, 3}, 3)
		require.NoError(t, err)
		quoted, err := json.Marshal(b)
		require.NoError(t, err)
		return string(quoted)
	})
}
