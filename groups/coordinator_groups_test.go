package groups

import (
	"maps"
	"slices"

	"github.com/kraftside/kraftside/groups/record"
)

// ---- consumer groups

func (c *coordinator) consumerOperation(g *simGroup) {
	m := c.pick(g)
	switch p := c.rng.IntN(14); {
	case m == nil || p < 3:
		c.consumerJoin(g)
	case p < 8: // a heartbeat
		c.consumerHeartbeat(g, m)
	case p == 8: // another subscription
		m.topics = c.topics()
		m.regex = []string{"", "o.*", "p.*"}[c.rng.IntN(3)]
		c.writeConsumerMember(g, m)
		c.consumerBump(g)
	case p == 9 && len(g.members) > 0: // a regular expression is resolved
		expression := []string{"o.*", "p.*"}[c.rng.IntN(2)]
		g.regexes[expression] = true
		c.emit(&record.ConsumerGroupRegularExpressionKey{GroupID: g.id, RegularExpression: expression},
			&record.ConsumerGroupRegularExpressionValue{Topics: c.topics(), Version: c.rng.Int64N(100), Timestamp: c.now})
		c.consumerBump(g)
	case p == 10 && m.instance != "":
		c.staticReplace(g, m)
	case p == 11:
		c.downgrade(g)
	default:
		c.consumerLeave(g, m)
	}
}

func (c *coordinator) consumerJoin(g *simGroup) {
	m := c.newMember(g)
	if c.rng.IntN(6) == 0 {
		m.topics, m.regex = nil, "o.*" // nothing to bump for yet
		c.writeConsumerMember(g, m)
		m.epoch = g.target
		c.writeConsumerCurrent(g, m, 0, nil)
		return
	}
	c.writeConsumerMember(g, m)
	c.consumerBump(g)
	c.consumerHeartbeat(g, m)
}

func (c *coordinator) consumerBump(g *simGroup) {
	g.epoch++
	g.withoutMetadata = false
	v := &record.ConsumerGroupMetadataValue{Epoch: g.epoch, MetadataHash: c.hash()}
	if c.rng.IntN(12) == 0 { // as Kafka 4.0
		v.MetadataHash = 0
		c.emit(&record.ConsumerGroupMetadataKey{GroupID: g.id}, v)
		c.emit(&record.ConsumerGroupPartitionMetadataKey{GroupID: g.id}, &record.ConsumerGroupPartitionMetadataValue{
			Topics: []record.TopicMetadata{{TopicID: topicID(1), TopicName: "orders", NumPartitions: 6}},
		})
	} else {
		c.emit(&record.ConsumerGroupMetadataKey{GroupID: g.id}, v)
		c.emit(&record.ConsumerGroupPartitionMetadataKey{GroupID: g.id}, nil)
	}
	if c.rng.IntN(5) == 0 { // the assignment waits for its interval
		return
	}
	c.consumerAssign(g)
}

func (c *coordinator) consumerAssign(g *simGroup) {
	for _, m := range g.assign() {
		c.writeConsumerTarget(g, m)
	}
	g.target = g.epoch
	c.emit(&record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.id},
		&record.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: g.epoch, AssignmentTimestamp: c.now})
}

func (c *coordinator) consumerHeartbeat(g *simGroup, m *simMember) {
	if g.target < g.epoch {
		c.consumerAssign(g)
	}
	state, revoking := g.reconcile(m)
	c.writeConsumerCurrent(g, m, state, revoking)
}

func (c *coordinator) writeConsumerMember(g *simGroup, m *simMember) {
	v := &record.ConsumerGroupMemberMetadataValue{
		InstanceID: optional(m.instance), RackID: optional("rack"), ClientID: "client", ClientHost: "/host",
		SubscribedTopicNames: m.topics, SubscribedTopicRegex: optional(m.regex), RebalanceTimeoutMs: 45000, ServerAssignor: optional("uniform"),
	}
	if m.classic {
		v.ClassicMemberMetadata = &record.ClassicMemberMetadata{SessionTimeoutMs: 45000}
	}
	c.emit(&record.ConsumerGroupMemberMetadataKey{GroupID: g.id, MemberID: m.id}, v)
}

func (c *coordinator) writeConsumerTarget(g *simGroup, m *simMember) {
	c.emit(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.id, MemberID: m.id},
		&record.ConsumerGroupTargetAssignmentMemberValue{TopicPartitions: partitionsOf(m.target)})
}

func partitionsOf(partitions []int32) []record.TopicPartitions {
	return []record.TopicPartitions{{TopicID: topicID(1), Partitions: partitions}}
}

func (c *coordinator) writeConsumerCurrent(g *simGroup, m *simMember, state int8, revoking []int32) {
	v := &record.ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch: m.epoch, PreviousMemberEpoch: m.epoch - 1, State: state,
		AssignedPartitions: []record.CurrentTopicPartitions{{TopicID: topicID(1), Partitions: m.assigned}},
	}
	if len(revoking) > 0 {
		v.PartitionsPendingRevocation = []record.CurrentTopicPartitions{{TopicID: topicID(1), Partitions: revoking}}
	}
	c.emit(&record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.id, MemberID: m.id}, v)
}

func (c *coordinator) removeConsumerMember(g *simGroup, m *simMember) {
	for _, t := range []record.Type{
		record.TypeConsumerGroupCurrentMemberAssignment, record.TypeConsumerGroupTargetAssignmentMember, record.TypeConsumerGroupMemberMetadata,
	} {
		c.emit(memberKey(t, g.id, m.id), nil)
	}
	delete(g.members, m.id)
}

func (c *coordinator) consumerLeave(g *simGroup, m *simMember) {
	if m.instance != "" && c.rng.IntN(2) == 0 { // for a moment only
		m.epoch = -2
		c.writeConsumerCurrent(g, m, 0, nil)
		return
	}
	c.removeConsumerMember(g, m)
	for _, expression := range slices.Sorted(maps.Keys(g.regexes)) {
		used := slices.ContainsFunc(g.memberIDs(), func(id string) bool { return g.members[id].regex == expression })
		if !used {
			c.emit(&record.ConsumerGroupRegularExpressionKey{GroupID: g.id, RegularExpression: expression}, nil)
			delete(g.regexes, expression)
		}
	}
	g.epoch++
	g.withoutMetadata = false
	c.emit(&record.ConsumerGroupMetadataKey{GroupID: g.id}, &record.ConsumerGroupMetadataValue{Epoch: g.epoch, MetadataHash: c.hash()})
	if len(g.members) == 0 {
		g.target = g.epoch
		c.emit(&record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.id}, &record.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: g.epoch})
	}
}

func (c *coordinator) staticReplace(g *simGroup, m *simMember) {
	c.removeConsumerMember(g, m)
	m.id += "-again"
	g.members[m.id] = m
	c.writeConsumerMember(g, m)
	c.writeConsumerTarget(g, m)
	m.epoch = 0
	c.writeConsumerCurrent(g, m, 0, nil)
	m.epoch = g.target
	c.writeConsumerCurrent(g, m, 0, nil)
}

func (c *coordinator) consumerTombstones(g *simGroup) {
	c.memberTombstones(g, record.TypeConsumerGroupCurrentMemberAssignment)
	c.memberTombstones(g, record.TypeConsumerGroupTargetAssignmentMember)
	c.emit(&record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.id}, nil)
	c.memberTombstones(g, record.TypeConsumerGroupMemberMetadata)
	for _, expression := range slices.Sorted(maps.Keys(g.regexes)) {
		c.emit(&record.ConsumerGroupRegularExpressionKey{GroupID: g.id, RegularExpression: expression}, nil)
	}
	c.emit(&record.ConsumerGroupPartitionMetadataKey{GroupID: g.id}, nil)
	c.emit(&record.ConsumerGroupMetadataKey{GroupID: g.id}, nil)
}

func (c *coordinator) downgrade(g *simGroup) {
	c.consumerTombstones(g)
	g.kind, g.generation = Classic, g.epoch
	g.regexes = map[string]bool{}
	for _, m := range g.members {
		m.classic, m.regex, m.assigned = false, "", nil
	}
	c.writeClassic(g)
}

// ---- share groups

func (c *coordinator) shareOperation(g *simGroup) {
	m := c.pick(g)
	switch p := c.rng.IntN(6); {
	case m == nil || p < 2:
		c.shareJoin(g)
	case p == 2: // the share state was created
		c.writeShareState(g, nil, partitionsOfShare(0, 1, 2))
		c.shareBump(g)
	case p == 3: // a topic was deleted
		c.writeShareState(g, nil, nil)
	default:
		for _, t := range []record.Type{
			record.TypeShareGroupCurrentMemberAssignment, record.TypeShareGroupTargetAssignmentMember, record.TypeShareGroupMemberMetadata,
		} {
			c.emit(memberKey(t, g.id, m.id), nil)
		}
		delete(g.members, m.id)
		c.shareBump(g)
	}
}

func (c *coordinator) shareJoin(g *simGroup) {
	m := c.newMember(g)
	c.emit(memberKey(record.TypeShareGroupMemberMetadata, g.id, m.id), &record.ShareGroupMemberMetadataValue{
		RackID: optional("rack"), ClientID: "client", ClientHost: "/host", SubscribedTopicNames: m.topics,
	})
	c.shareBump(g)
	m.epoch = g.target
	c.emit(memberKey(record.TypeShareGroupCurrentMemberAssignment, g.id, m.id), &record.ShareGroupCurrentMemberAssignmentValue{
		MemberEpoch: m.epoch, AssignedPartitions: partitionsOf(m.target),
	})
	if !g.initialized {
		g.initialized = true
		c.writeShareState(g, partitionsOfShare(0, 1), nil)
	}
}

func (c *coordinator) shareBump(g *simGroup) {
	g.epoch++
	c.emit(&record.ShareGroupMetadataKey{GroupID: g.id}, &record.ShareGroupMetadataValue{Epoch: g.epoch, MetadataHash: c.hash()})
	for _, m := range g.assign() {
		c.emit(memberKey(record.TypeShareGroupTargetAssignmentMember, g.id, m.id),
			&record.ShareGroupTargetAssignmentMemberValue{TopicPartitions: partitionsOf(m.target)})
	}
	g.target = g.epoch
	c.emit(&record.ShareGroupTargetAssignmentMetadataKey{GroupID: g.id}, &record.ShareGroupTargetAssignmentMetadataValue{AssignmentEpoch: g.epoch})
}

func partitionsOfShare(partitions ...int32) []record.ShareTopicPartitions {
	return []record.ShareTopicPartitions{{TopicID: topicID(1), TopicName: "orders", Partitions: partitions}}
}

func (c *coordinator) writeShareState(g *simGroup, initializing, initialized []record.ShareTopicPartitions) {
	c.emit(&record.ShareGroupStatePartitionMetadataKey{GroupID: g.id}, &record.ShareGroupStatePartitionMetadataValue{
		InitializingTopics: initializing, InitializedTopics: initialized,
		DeletingTopics: []record.ShareTopic{{TopicID: topicID(2), TopicName: "refunds"}},
	})
}

// ---- streams groups

func (c *coordinator) streamsOperation(g *simGroup) {
	m := c.pick(g)
	switch p := c.rng.IntN(6); {
	case m == nil || p < 2:
		c.streamsJoin(g)
	case p == 2:
		c.writeStreamsCurrent(g, m)
	case p == 3: // bookkeeping
		c.writeStreamsMetadata(g)
	default:
		for _, t := range []record.Type{
			record.TypeStreamsGroupCurrentMemberAssignment, record.TypeStreamsGroupTargetAssignmentMember, record.TypeStreamsGroupMemberMetadata,
		} {
			c.emit(memberKey(t, g.id, m.id), nil)
		}
		delete(g.members, m.id)
		g.epoch++
		c.writeStreamsMetadata(g)
	}
}

func (c *coordinator) streamsJoin(g *simGroup) {
	m := c.newMember(g)
	c.emit(memberKey(record.TypeStreamsGroupMemberMetadata, g.id, m.id), &record.StreamsGroupMemberMetadataValue{
		InstanceID: optional(m.instance), ClientID: "client", ClientHost: "/host", RebalanceTimeoutMs: 1, ProcessID: "p",
		ClientTags: []record.KeyValue{{Key: "zone", Value: "a"}},
	})
	if !g.topology {
		g.topology = true
		c.emit(&record.StreamsGroupTopologyKey{GroupID: g.id}, &record.StreamsGroupTopologyValue{
			Subtopologies: []record.Subtopology{{SubtopologyID: "0", SourceTopics: c.topics(), StateChangelogTopics: []record.TopicInfo{{Name: "changelog"}}}},
		})
	}
	g.epoch++
	c.writeStreamsMetadata(g)
	for _, changed := range g.assign() {
		c.emit(memberKey(record.TypeStreamsGroupTargetAssignmentMember, g.id, changed.id), &record.StreamsGroupTargetAssignmentMemberValue{
			ActiveTasks: []record.TargetTaskIDs{{SubtopologyID: "0", Partitions: changed.target}},
		})
	}
	g.target = g.epoch
	c.emit(&record.StreamsGroupTargetAssignmentMetadataKey{GroupID: g.id}, &record.StreamsGroupTargetAssignmentMetadataValue{AssignmentEpoch: g.epoch})
	c.writeStreamsCurrent(g, m)
}

func (c *coordinator) writeStreamsMetadata(g *simGroup) {
	c.emit(&record.StreamsGroupMetadataKey{GroupID: g.id}, &record.StreamsGroupMetadataValue{
		Epoch: g.epoch, MetadataHash: c.hash(), LastAssignmentConfigs: []record.LastAssignmentConfig{{Key: "num.standby.replicas", Value: "0"}},
		StoredDescriptionTopologyEpoch: int32(c.rng.IntN(2)), FailedDescriptionTopologyEpoch: -1,
	})
}

func (c *coordinator) writeStreamsCurrent(g *simGroup, m *simMember) {
	m.epoch = g.target
	c.emit(memberKey(record.TypeStreamsGroupCurrentMemberAssignment, g.id, m.id), &record.StreamsGroupCurrentMemberAssignmentValue{
		MemberEpoch: m.epoch, State: 1 + int8(c.rng.IntN(3)),
		ActiveTasks:  []record.CurrentTaskIDs{{SubtopologyID: "0", Partitions: m.target}},
		StandbyTasks: []record.CurrentTaskIDs{{SubtopologyID: "0", Partitions: []int32{9, 8}}},
	})
}
