//go:build e2e && unix

package e2e

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// adminCase is a request in one form. Fields that a version does not have are
// left out of it.
type adminCase struct {
	name string
	make func(version int16) kmsg.Request
	// from is the first version in which the request can be said.
	from int16
	// unanswered: a broker that refuses it says nothing at all.
	unanswered bool
}

func always(name string, q kmsg.Request) adminCase {
	return adminCase{name: name, make: func(int16) kmsg.Request { return q }}
}

// since is a request that there is from a version on.
func since(from int16, name string, q kmsg.Request) adminCase {
	c := always(name, q)
	c.from = from
	return c
}

// adminCases are requests of every API that is served, by its key.
func (s *adminStage) adminCases() map[int16][]adminCase {
	return map[int16][]adminCase{
		3:  s.metadataCases(),
		9:  s.offsetFetchCases(),
		10: s.findCoordinatorCases(),
		15: s.describeGroupsCases(),
		16: s.listGroupsCases(),
		17: nil, 36: nil, // see TestAdminAccess
		18: {always("", &kmsg.ApiVersionsRequest{ClientSoftwareName: "e2e", ClientSoftwareVersion: "1", NodeID: -1})},
		29: s.describeACLsCases(),
		32: s.describeConfigsCases(),
		41: {always("all", &kmsg.DescribeDelegationTokenRequest{})},
		46: s.listReassignmentsCases(),
		48: describeQuotasCases(),
		50: s.describeScramCases(),
		55: s.describeQuorumCases(),
		60: describeClusterCases(),
		69: s.describeConsumersCases(),
		74: listResourcesCases(),
		75: s.describePartitionsCases(),
		77: s.describeSharesCases(),
		89: s.describeStreamsCases(),
	}
}

func (s *adminStage) metadataCases() []adminCase {
	topic := func(name string) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{Topic: &name} }
	byID := func(id [16]byte) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{TopicID: id} }
	return []adminCase{
		always("all", &kmsg.MetadataRequest{IncludeClusterAuthorizedOperations: true, IncludeTopicAuthorizedOperations: true}),
		since(1, "none", &kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{}}),
		always("by name", &kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{topic("orders"), topic("absent"), topic("not/valid"), topic("__consumer_offsets")}}),
		always("twice", &kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{topic("orders"), topic("orders")}}),
		since(12, "by id", &kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{byID(s.topicID("orders")), byID([16]byte{9, 9})}}),
	}
}

func (s *adminStage) offsetFetchCases() []adminCase {
	group := func(id string, topics []kmsg.OffsetFetchRequestGroupTopic) kmsg.OffsetFetchRequestGroup {
		return kmsg.OffsetFetchRequestGroup{Group: id, MemberEpoch: -1, Topics: topics}
	}
	topics := []kmsg.OffsetFetchRequestGroupTopic{
		{Topic: "orders", TopicID: s.topicID("orders"), Partitions: []int32{0, 1, 2, 99}}, {Topic: "absent", TopicID: [16]byte{9, 9}, Partitions: []int32{0}},
	}
	single := []kmsg.OffsetFetchRequestTopic{{Topic: "orders", Partitions: []int32{0, 1, 2, 99}}, {Topic: "absent", Partitions: []int32{0}}}
	var cases []adminCase
	for _, stable := range []bool{false, true} {
		name := " "
		if stable {
			name = " stable "
		}
		for _, id := range s.groupIDs() {
			cases = append(cases, adminCase{name: "topics of" + name + id, make: func(v int16) kmsg.Request {
				return &kmsg.OffsetFetchRequest{Group: id, Topics: single, Groups: []kmsg.OffsetFetchRequestGroup{group(id, topics)}, RequireStable: stable && v >= 7}
			}})
			cases = append(cases, adminCase{name: "all of" + name + id, from: 2, make: func(v int16) kmsg.Request {
				return &kmsg.OffsetFetchRequest{Group: id, Groups: []kmsg.OffsetFetchRequestGroup{group(id, nil)}, RequireStable: stable && v >= 7}
			}})
		}
	}
	var every []kmsg.OffsetFetchRequestGroup
	for _, id := range s.groupIDs() {
		every = append(every, group(id, nil))
	}
	cases = append(cases, since(8, "all groups", &kmsg.OffsetFetchRequest{Groups: every}))
	other := group("consumer", nil)
	other.MemberID, other.MemberEpoch = new("nobody"), 3
	return append(cases, since(9, "a member that is not", &kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{other}}))
}

func (s *adminStage) findCoordinatorCases() []adminCase {
	find := func(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
		return &kmsg.FindCoordinatorRequest{CoordinatorKey: keys[0], CoordinatorType: kind, CoordinatorKeys: keys}
	}
	share := "share:" + s.topicIDText("orders") + ":0"
	return []adminCase{
		always("group", find(0, s.groupIDs()...)),
		always("group without a name", find(0, "")),
		since(1, "transactional id", find(1, "transactions", "others")),
		since(6, "share partition", find(2, share)),
		since(6, "not a share partition", find(2, "share", "share:orders:0")),
		since(1, "unknown type", find(7, "x")),
	}
}

func (s *adminStage) describeGroupsCases() []adminCase {
	return []adminCase{
		always("each", &kmsg.DescribeGroupsRequest{Groups: s.groupIDs(), IncludeAuthorizedOperations: true}),
		always("without a name", &kmsg.DescribeGroupsRequest{Groups: []string{""}}),
	}
}

func (s *adminStage) listGroupsCases() []adminCase {
	return []adminCase{
		always("all", &kmsg.ListGroupsRequest{}),
		since(4, "stable", &kmsg.ListGroupsRequest{StatesFilter: []string{"stable"}}),
		since(4, "empty", &kmsg.ListGroupsRequest{StatesFilter: []string{"Empty", "Dead"}}),
		since(5, "consumer and share", &kmsg.ListGroupsRequest{TypesFilter: []string{"consumer", "Share"}}),
		since(5, "stable streams", &kmsg.ListGroupsRequest{StatesFilter: []string{"Stable"}, TypesFilter: []string{"streams"}}),
		since(5, "unknown type", &kmsg.ListGroupsRequest{TypesFilter: []string{"other"}}),
	}
}

func (s *adminStage) describeConsumersCases() []adminCase {
	return []adminCase{
		always("each", &kmsg.ConsumerGroupDescribeRequest{Groups: s.groupIDs(), IncludeAuthorizedOperations: true}),
		always("without a name", &kmsg.ConsumerGroupDescribeRequest{Groups: []string{""}}),
	}
}

func (s *adminStage) describeSharesCases() []adminCase {
	return []adminCase{
		always("each", &kmsg.ShareGroupDescribeRequest{GroupIDs: s.groupIDs(), IncludeAuthorizedOperations: true}),
		always("without a name", &kmsg.ShareGroupDescribeRequest{GroupIDs: []string{""}}),
	}
}

func (s *adminStage) describeStreamsCases() []adminCase {
	return []adminCase{
		always("each", &kmsg.StreamsGroupDescribeRequest{Groups: s.groupIDs(), IncludeAuthorizedOperations: true}),
		since(1, "with descriptions", &kmsg.StreamsGroupDescribeRequest{Groups: s.groupIDs(), IncludeTopologyDescription: true}),
		always("without a name", &kmsg.StreamsGroupDescribeRequest{Groups: []string{""}}),
	}
}

func (s *adminStage) describeACLsCases() []adminCase {
	filter := func(kind kmsg.ACLResourceType, name *string, form kmsg.ACLResourcePatternType) *kmsg.DescribeACLsRequest {
		return &kmsg.DescribeACLsRequest{
			ResourceType: kind, ResourceName: name, ResourcePatternType: form, Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny,
		}
	}
	ofAlice := filter(kmsg.ACLResourceTypeAny, nil, kmsg.ACLResourcePatternTypeAny)
	ofAlice.Principal, ofAlice.PermissionType = new("User:alice"), kmsg.ACLPermissionTypeAllow
	reads := filter(kmsg.ACLResourceTypeAny, nil, kmsg.ACLResourcePatternTypeAny)
	reads.Operation, reads.Host = kmsg.ACLOperationRead, new("*")
	return []adminCase{
		always("all", filter(kmsg.ACLResourceTypeAny, nil, kmsg.ACLResourcePatternTypeAny)),
		always("topics", filter(kmsg.ACLResourceTypeTopic, nil, kmsg.ACLResourcePatternTypeAny)),
		always("literal", filter(kmsg.ACLResourceTypeTopic, new("orders"), kmsg.ACLResourcePatternTypeLiteral)),
		always("prefixed", filter(kmsg.ACLResourceTypeTopic, new("ord"), kmsg.ACLResourcePatternTypePrefixed)),
		always("any of a name", filter(kmsg.ACLResourceTypeTopic, new("ord"), kmsg.ACLResourcePatternTypeAny)),
		always("matching", filter(kmsg.ACLResourceTypeTopic, new("orders"), kmsg.ACLResourcePatternTypeMatch)),
		always("of a principal", ofAlice), always("of an operation", reads),
		always("unknown", filter(kmsg.ACLResourceTypeUnknown, nil, kmsg.ACLResourcePatternTypeAny)),
	}
}

func (s *adminStage) describeConfigsCases() []adminCase {
	of := func(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
		return &kmsg.DescribeConfigsRequest{Resources: []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: keys}}}
	}
	synonyms := of(kmsg.ConfigResourceTypeTopic, "orders")
	synonyms.IncludeSynonyms = true
	return []adminCase{
		always("topic", of(kmsg.ConfigResourceTypeTopic, "orders")), always("topic with synonyms", synonyms),
		always("some of a topic", of(kmsg.ConfigResourceTypeTopic, "orders", "retention.ms", "cleanup.policy", "absent")),
		always("topic that is not", of(kmsg.ConfigResourceTypeTopic, "absent")),
		always("topic that cannot be", of(kmsg.ConfigResourceTypeTopic, "not/valid")), always("topic without a name", of(kmsg.ConfigResourceTypeTopic, "")),
		always("topic .", of(kmsg.ConfigResourceTypeTopic, ".")), always("topic ..", of(kmsg.ConfigResourceTypeTopic, "..")),
		always("topic with a long name", of(kmsg.ConfigResourceTypeTopic, strings.Repeat("x", 250))),
		always("broker 1", of(kmsg.ConfigResourceTypeBroker, "1")), always("broker 2", of(kmsg.ConfigResourceTypeBroker, "2")),
		always("all brokers", of(kmsg.ConfigResourceTypeBroker, "")), always("no broker", of(kmsg.ConfigResourceTypeBroker, "one")),
		always("group", of(kmsg.ConfigResourceTypeGroupConfig, "consumer")), always("group without a name", of(kmsg.ConfigResourceTypeGroupConfig, "")),
		always("client metrics", of(kmsg.ConfigResourceTypeClientMetrics, "subscription")),
		always("client metrics that are not", of(kmsg.ConfigResourceTypeClientMetrics, "absent")),
		always("client metrics without a name", of(kmsg.ConfigResourceTypeClientMetrics, "")),
		always("unknown type", of(99, "x")),
	}
}

func (s *adminStage) listReassignmentsCases() []adminCase {
	return []adminCase{
		always("all", &kmsg.ListPartitionReassignmentsRequest{TimeoutMillis: 10_000}),
		always("of topics", &kmsg.ListPartitionReassignmentsRequest{TimeoutMillis: 10_000, Topics: []kmsg.ListPartitionReassignmentsRequestTopic{
			{Topic: "moving", Partitions: []int32{0, 1, 99}}, {Topic: "orders", Partitions: []int32{0}}, {Topic: "absent", Partitions: []int32{0}},
		}}),
	}
}

func describeQuotasCases() []adminCase {
	of := func(strict bool, parts ...kmsg.DescribeClientQuotasRequestComponent) *kmsg.DescribeClientQuotasRequest {
		return &kmsg.DescribeClientQuotasRequest{Components: parts, Strict: strict}
	}
	part := func(kind string, match kmsg.QuotasMatchType, name *string) kmsg.DescribeClientQuotasRequestComponent {
		return kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, MatchType: match, Match: name}
	}
	anyUser, anyClient := part("user", kmsg.QuotasMatchTypeAny, nil), part("client-id", kmsg.QuotasMatchTypeAny, nil)
	alice := part("user", kmsg.QuotasMatchTypeExact, new("alice"))
	return []adminCase{
		always("all", of(false)), always("none", of(true)), always("users", of(false, anyUser)), always("users alone", of(true, anyUser)),
		always("users and clients", of(true, anyUser, anyClient)), always("alice", of(false, alice)),
		always("the default of users", of(false, part("user", kmsg.QuotasMatchTypeDefault, nil))),
		always("a type that is not", of(false, part("planet", kmsg.QuotasMatchTypeAny, nil))),
		always("a type twice", of(false, anyUser, alice)), always("no type", of(false, part("", kmsg.QuotasMatchTypeAny, nil))),
		always("exactly nobody", of(false, part("user", kmsg.QuotasMatchTypeExact, nil))),
		always("the default with a name", of(false, part("user", kmsg.QuotasMatchTypeDefault, new("alice")))),
		always("any with a name", of(false, part("user", kmsg.QuotasMatchTypeAny, new("alice")))),
		always("unknown match", of(false, part("user", 9, nil))),
		always("an address with a user", of(false, anyUser, part("ip", kmsg.QuotasMatchTypeAny, nil))),
	}
}

func (s *adminStage) describeScramCases() []adminCase {
	of := func(names ...string) *kmsg.DescribeUserSCRAMCredentialsRequest {
		q := &kmsg.DescribeUserSCRAMCredentialsRequest{}
		for _, name := range names {
			q.Users = append(q.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
		}
		return q
	}
	return []adminCase{
		{name: "all", make: func(int16) kmsg.Request { return of() }, unanswered: true}, always("some", of("alice", "nobody")), always("twice", of("alice", "bob", "alice")),
		always("nobody by name", &kmsg.DescribeUserSCRAMCredentialsRequest{Users: []kmsg.DescribeUserSCRAMCredentialsRequestUser{}}),
	}
}

func (s *adminStage) describeQuorumCases() []adminCase {
	of := func(topic string, partition int32) *kmsg.DescribeQuorumRequest {
		return &kmsg.DescribeQuorumRequest{Topics: []kmsg.DescribeQuorumRequestTopic{
			{Topic: topic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: partition}}},
		}}
	}
	return []adminCase{always("the quorum", of("__cluster_metadata", 0)), always("another topic", of("orders", 0))}
}

func describeClusterCases() []adminCase {
	return []adminCase{
		always("brokers", &kmsg.DescribeClusterRequest{EndpointType: 1, IncludeClusterAuthorizedOperations: true}),
		since(1, "controllers", &kmsg.DescribeClusterRequest{EndpointType: 2}),
		since(1, "unknown", &kmsg.DescribeClusterRequest{EndpointType: 9}),
		since(2, "fenced ones", &kmsg.DescribeClusterRequest{EndpointType: 1, IncludeFencedBrokers: true}),
	}
}

func listResourcesCases() []adminCase {
	return []adminCase{
		always("all", &kmsg.ListConfigResourcesRequest{}),
		since(1, "topics and groups", &kmsg.ListConfigResourcesRequest{ResourceTypes: []int8{2, 32}}),
		since(1, "unknown", &kmsg.ListConfigResourcesRequest{ResourceTypes: []int8{99}}),
	}
}

func (s *adminStage) describePartitionsCases() []adminCase {
	of := func(limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) *kmsg.DescribeTopicPartitionsRequest {
		q := &kmsg.DescribeTopicPartitionsRequest{ResponsePartitionLimit: limit, Cursor: cursor}
		for _, name := range names {
			q.Topics = append(q.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
		}
		return q
	}
	at := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
		return &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topic, Partition: partition}
	}
	return []adminCase{
		always("all", of(2000, nil)), always("some", of(2000, nil, "orders", "absent", "moving", "orders")),
		always("a few", of(2, nil, "orders", "moving")), always("the next", of(2, at("orders", 2), "orders", "moving")),
		always("from a topic on", of(2000, at("moving", 1))), always("exactly one topic", of(3, nil, "orders", "returns")),
		always("cannot be", of(2000, nil, "not/valid")),
	}
}
