package webtest

import "github.com/kraftside/kraftside/groups/record"

// recordTypes makes the empty key and value of a type of group record.
var recordTypes = map[string]func() (record.Key, record.Value){
	"1": func() (record.Key, record.Value) { return &record.OffsetCommitKey{}, &record.OffsetCommitValue{} },
	"2": func() (record.Key, record.Value) { return &record.GroupMetadataKey{}, &record.GroupMetadataValue{} },
	"3": func() (record.Key, record.Value) {
		return &record.ConsumerGroupMetadataKey{}, &record.ConsumerGroupMetadataValue{}
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
	"22": func() (record.Key, record.Value) {
		return &record.StreamsGroupCurrentMemberAssignmentKey{}, &record.StreamsGroupCurrentMemberAssignmentValue{}
	},
	"23": func() (record.Key, record.Value) {
		return &record.StreamsGroupTopologyKey{}, &record.StreamsGroupTopologyValue{}
	},
}
