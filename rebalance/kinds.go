package rebalance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
)

// assignor: from Kafka 4.4 on a group whose members prefer another server
// assignor is bumped. Before, the same record does nothing, so that it is a
// cause only where there is no other.
func (x *extractor) assignor() {
	before, after := x.op.before, x.op.after
	if before == nil || before.Assignor == after.Assignor {
		return
	}
	for _, c := range x.diff.changed {
		if c[0].Assignor == c[1].Assignor {
			continue
		}
		x.residual(Cause{
			Kind: AssignorChanged, Member: c[1].ID, Before: nonEmpty(before.Assignor), After: nonEmpty(after.Assignor),
			Summary: fmt.Sprintf("most members prefer the assignor %s now, and preferred %s", orNone(after.Assignor), orNone(before.Assignor)),
		}, x.proofOf(record.TypeConsumerGroupMemberMetadata, false, c[1].ID)...)
		return
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// shareState: partitions of a share group are given out once their state is
// initialized, which is recorded before the bump and by itself. A coordinator
// compares what is initialized with what is assigned: up to Kafka 4.2 it does so
// right after a member is gone, too, whose partitions nobody has yet
// (GroupMetadataManager.initializedAssignmentPending).
func (x *extractor) shareState() {
	now, t := x.op.after.Share, x.track
	before, left := t.Share, t.ShareLeft
	t.Share, t.ShareLeft = nil, nil
	if now != nil {
		t.Share = &shareState{now.Initialized}
	}
	if len(x.diff.left) > 0 {
		t.ShareLeft = x.proofOf(record.TypeShareGroupMemberMetadata, true, x.diff.left[0].ID)
	}
	switch {
	case now == nil:
	case t.ShareAt != (Evidence{}) && (before == nil || !samePartitions(before.Initialized, now.Initialized)):
		x.residual(Cause{
			Kind: SharePartitionsInitialized, Summary: "the share state of partitions was initialized, so that they can be given out",
		}, t.ShareAt, x.proof)
	case len(left) > 0 && !assignsInitialized(x.op.before):
		x.residual(Cause{
			Kind: SharePartitionsInitialized, Summary: "partitions whose share state is initialized had nobody after a member was gone, so that they were given out anew",
		}, append(slices.Clone(left), x.proof)...)
	}
}

// assignsInitialized says whether some member is to get each initialized
// partition of the topics that the group subscribes to.
func assignsInitialized(g *groups.Group) bool {
	if g == nil || g.Share == nil {
		return true // there is none
	}
	assigned := make(map[slot]bool)
	for _, m := range g.Members {
		for s := range slots(m.Target) {
			assigned[slot{id: s.id, partition: s.partition}] = true
		}
	}
	for _, topic := range g.Share.Initialized {
		if _, subscribed := slices.BinarySearch(g.SubscribedTopics, topic.Topic); !subscribed {
			continue
		}
		for _, p := range topic.Partitions {
			if !assigned[slot{id: topic.TopicID, partition: p}] {
				return false
			}
		}
	}
	return true
}

func samePartitions(a, b []groups.TopicPartitions) bool {
	return slices.EqualFunc(a, b, func(a, b groups.TopicPartitions) bool {
		return a.TopicID == b.TopicID && slices.Equal(a.Partitions, b.Partitions)
	})
}

// streams finds what only a streams group is bumped for.
func (x *extractor) streams() {
	before, after := x.op.before, x.op.after
	for _, c := range x.diff.changed {
		if fields := streamsFields(c[0], c[1]); len(fields) > 0 && x.op.find(record.TypeStreamsGroupMemberMetadata, false, c[1].ID) != nil {
			x.recorded(Cause{
				Kind: StreamsMemberChanged, Member: c[1].ID, Summary: memberName(c[1]) + " has another " + strings.Join(fields, ", "),
			}, x.proofOf(record.TypeStreamsGroupMemberMetadata, false, c[1].ID)...)
		}
	}
	if before == nil || before.Streams == nil || before.Hash == nil {
		return
	}
	was, is := before.Streams, after.Streams
	if was.ValidatedTopologyEpoch != is.ValidatedTopologyEpoch {
		x.b.Found = append(x.b.Found, x.certain(Cause{
			Kind: TopologyValidated, Summary: validation(is.ValidatedTopologyEpoch),
			Before: number(int(was.ValidatedTopologyEpoch)), After: number(int(is.ValidatedTopologyEpoch)),
		}, x.proof))
	}
	if !slices.Equal(was.AssignmentConfigs, is.AssignmentConfigs) {
		c := x.certain(Cause{
			Kind: AssignmentConfigsChanged, Summary: "the configuration of the assignment changed",
			Before: keyValues(was.AssignmentConfigs), After: keyValues(is.AssignmentConfigs),
		}, x.proof)
		if len(was.AssignmentConfigs) > 0 {
			x.b.Found = append(x.b.Found, c)
		} else {
			x.b.Residual = append(x.b.Residual, c) // Kafka 4.1 recorded none
		}
	}
	x.warmup()
}

// warmup: the assignor of Kafka 4.4 gives a task to the member that has caught
// up with it. The assignment keeps the time at which it was computed.
func (x *extractor) warmup() {
	before, after := x.op.before, x.op.after
	if x.op.has(record.TypeStreamsGroupTargetAssignmentMetadata, false) && !x.op.has(record.TypeStreamsGroupTargetAssignmentMember, false) &&
		after.AssignmentEpoch == after.Epoch && after.AssignmentTimestamp != 0 && after.AssignmentTimestamp == before.AssignmentTimestamp {
		x.residual(Cause{Kind: WarmupRefined, Summary: "a warm-up task caught up, so that the assignment was refined"},
			x.proofOf(record.TypeStreamsGroupTargetAssignmentMetadata, false, "")...)
	}
}

func validation(epoch int32) string {
	if epoch < 0 {
		return "the topology is not valid any more: its topics do not fit it"
	}
	return fmt.Sprintf("the topology of epoch %d was found valid: its topics are there", epoch)
}

func keyValues(list []groups.KeyValue) (out []string) {
	for _, c := range list {
		out = append(out, c.Key+"="+c.Value)
	}
	return out
}

// streamsFields are the fields of a member's record that changed.
func streamsFields(a, b *groups.Member) (fields []string) {
	s, t := a.Streams, b.Streams
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"topology epoch", s.TopologyEpoch != t.TopologyEpoch},
		{"rack", a.RackID != b.RackID},
		{"client tags", !slices.Equal(s.ClientTags, t.ClientTags)},
		{"process", s.ProcessID != t.ProcessID},
		{"endpoint", (s.Endpoint == nil) != (t.Endpoint == nil) || s.Endpoint != nil && *s.Endpoint != *t.Endpoint},
		{"client", a.ClientID != b.ClientID || a.ClientHost != b.ClientHost},
		{"rebalance timeout", a.RebalanceTimeoutMs != b.RebalanceTimeoutMs},
	} {
		if f.changed {
			fields = append(fields, f.name)
		}
	}
	return fields
}
