package groups

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/kraftside/kraftside/groups/record"
)

// packer copies lists of integers into one array, so that an assignment is two
// objects however many topics it has.
type packer struct{ memory []int32 }

func (p *packer) copy(list []int32) []int32 {
	start := len(p.memory)
	p.memory = append(p.memory, list...)
	return p.memory[start:len(p.memory):len(p.memory)]
}

// fill adds n times v.
func (p *packer) fill(v int32, n int) []int32 {
	start := len(p.memory)
	for range n {
		p.memory = append(p.memory, v)
	}
	return p.memory[start:len(p.memory):len(p.memory)]
}

// epochs copies the epochs of n partitions. Where the record has none, or not
// n, each has the member's, but at least 0 (the epochs of a member that is
// away are below).
func (p *packer) epochs(list []int32, n int, memberEpoch int32) []int32 {
	if len(list) != n {
		return p.fill(max(memberEpoch, 0), n)
	}
	return p.copy(list)
}

// packPartitions copies an assignment.
func packPartitions(in []record.TopicPartitions) []TopicPartitions {
	if len(in) == 0 {
		return nil
	}
	var p packer
	out := make([]TopicPartitions, len(in))
	for i := range in {
		out[i].TopicID, out[i].Partitions = in[i].TopicID, p.copy(in[i].Partitions)
	}
	return sortPartitions(out)
}

// packOwned copies an assignment with its epochs.
func packOwned(in []record.CurrentTopicPartitions, memberEpoch int32) []TopicPartitions {
	if len(in) == 0 {
		return nil
	}
	var p packer
	out := make([]TopicPartitions, len(in))
	for i := range in {
		out[i].TopicID, out[i].Partitions = in[i].TopicID, p.copy(in[i].Partitions)
		out[i].Epochs = p.epochs(in[i].AssignmentEpochs, len(in[i].Partitions), memberEpoch)
	}
	return sortPartitions(out)
}

// packByName copies the assignment of a classic member.
func packByName(in []record.ProtocolTopicPartitions) []TopicPartitions {
	if len(in) == 0 {
		return nil
	}
	var p packer
	out := make([]TopicPartitions, len(in))
	for i := range in {
		out[i].Topic, out[i].Partitions = in[i].Topic, p.copy(in[i].Partitions)
	}
	return sortPartitions(out)
}

// packShare copies what a share group keeps of its topics.
func packShare(in []record.ShareTopicPartitions) []TopicPartitions {
	if len(in) == 0 {
		return nil
	}
	var p packer
	out := make([]TopicPartitions, len(in))
	for i := range in {
		out[i] = TopicPartitions{TopicID: in[i].TopicID, Topic: in[i].TopicName, Partitions: p.copy(in[i].Partitions)}
	}
	return sortPartitions(out)
}

// packTasks copies tasks.
func packTasks(in []record.TargetTaskIDs) []TaskIDs {
	if len(in) == 0 {
		return nil
	}
	var p packer
	out := make([]TaskIDs, len(in))
	for i := range in {
		out[i].Subtopology, out[i].Partitions = in[i].SubtopologyID, p.copy(in[i].Partitions)
	}
	return sortTasks(out)
}

// packCurrentTasks copies tasks that a member has, with their epochs if they
// are active ones: only those have epochs (StreamsGroupMember).
func packCurrentTasks(in []record.CurrentTaskIDs, active bool, memberEpoch int32) []TaskIDs {
	if len(in) == 0 {
		return nil
	}
	var p packer
	out := make([]TaskIDs, len(in))
	for i := range in {
		out[i].Subtopology, out[i].Partitions = in[i].SubtopologyID, p.copy(in[i].Partitions)
		if active {
			out[i].Epochs = p.epochs(in[i].AssignmentEpochs, len(in[i].Partitions), memberEpoch)
		}
	}
	return sortTasks(out)
}

func sortPartitions(list []TopicPartitions) []TopicPartitions {
	slices.SortStableFunc(list, func(a, b TopicPartitions) int {
		return cmp.Or(bytes.Compare(a.TopicID[:], b.TopicID[:]), strings.Compare(a.Topic, b.Topic))
	})
	for i := range list {
		sortTogether(list[i].Partitions, list[i].Epochs)
	}
	return list
}

func sortTasks(list []TaskIDs) []TaskIDs {
	slices.SortStableFunc(list, func(a, b TaskIDs) int { return strings.Compare(a.Subtopology, b.Subtopology) })
	for i := range list {
		sortTogether(list[i].Partitions, list[i].Epochs)
	}
	return list
}

// sortTogether sorts partitions, and their epochs with them if there are any.
func sortTogether(partitions, epochs []int32) {
	switch {
	case slices.IsSorted(partitions):
	case len(epochs) == 0:
		slices.Sort(partitions)
	default:
		sort.Stable(byPartition{partitions, epochs})
	}
}

type byPartition struct{ partitions, epochs []int32 }

func (b byPartition) Len() int           { return len(b.partitions) }
func (b byPartition) Less(i, j int) bool { return b.partitions[i] < b.partitions[j] }
func (b byPartition) Swap(i, j int) {
	b.partitions[i], b.partitions[j] = b.partitions[j], b.partitions[i]
	b.epochs[i], b.epochs[j] = b.epochs[j], b.epochs[i]
}
