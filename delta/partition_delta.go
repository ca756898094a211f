package delta

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Special values of a PartitionChangeRecord
// (org.apache.kafka.metadata.LeaderConstants, LeaderRecoveryState).
const (
	noLeaderChange        = -2
	noRecoveryStateChange = -1
)

func (d *Delta) replayPartition(r *record.PartitionRecord) error {
	ref, err := d.find(r.TopicID)
	if err != nil {
		return err
	}
	p := &image.Partition{
		// The lists of the record are only read, and copied by SetPartition.
		Replicas:         nodes(r.Replicas),
		Isr:              nodes(r.Isr),
		RemovingReplicas: nodes(r.RemovingReplicas),
		AddingReplicas:   nodes(r.AddingReplicas),
		Elr:              nodes(r.EligibleLeaderReplicas),
		LastKnownElr:     nodes(r.LastKnownElr),
		Directories:      r.Directories,
		Leader:           kafka.NodeID(r.Leader),
		LeaderEpoch:      kafka.Epoch(r.LeaderEpoch),
		PartitionEpoch:   r.PartitionEpoch,
	}
	if err := setRecoveryState(p, r.LeaderRecoveryState); err != nil {
		return err
	}
	if err := settleDirectories(p); err != nil {
		return err
	}
	if err := d.setPartition(ref, r.PartitionID, p); err != nil {
		return err
	}
	d.note(source{ref: ref, number: r.PartitionID, kind: record.TypePartitionRecord, effects: assigns | elects})
	return nil
}

// replayPartitionChange merges a change into a partition
// (PartitionRegistration.merge). A missing list keeps the old one, an empty
// one clears it.
func (d *Delta) replayPartitionChange(r *record.PartitionChangeRecord) error {
	ref, err := d.find(r.TopicID)
	if err != nil {
		return err
	}
	topics := d.builder.Topics()
	p := topics.Scratch()
	if !topics.Partition(ref, r.PartitionID, p) {
		return fmt.Errorf("%w: topic %s has no partition %d", ErrUnknownPartition, r.TopicID, r.PartitionID)
	}
	mergeNodes(&p.Replicas, r.Replicas)
	mergeNodes(&p.Isr, r.Isr)
	mergeNodes(&p.RemovingReplicas, r.RemovingReplicas)
	mergeNodes(&p.AddingReplicas, r.AddingReplicas)
	mergeNodes(&p.Elr, r.EligibleLeaderReplicas)
	mergeNodes(&p.LastKnownElr, r.LastKnownElr)
	if r.Directories != nil {
		p.Directories = append(p.Directories[:0], r.Directories...)
	}
	if r.Leader != noLeaderChange {
		// Naming the leader that it has already starts a new leader epoch too.
		p.Leader = kafka.NodeID(r.Leader)
		p.LeaderEpoch++
	}
	p.PartitionEpoch++
	if r.LeaderRecoveryState != noRecoveryStateChange {
		if err := setRecoveryState(p, r.LeaderRecoveryState); err != nil {
			return err
		}
	}
	if err := settleDirectories(p); err != nil {
		return err
	}
	if err := d.setPartition(ref, r.PartitionID, p); err != nil {
		return err
	}
	d.note(source{ref: ref, number: r.PartitionID, kind: record.TypePartitionChangeRecord, effects: effectsOf(r)})
	return nil
}

// effectsOf says what a change does beside touching the topic.
func effectsOf(r *record.PartitionChangeRecord) (e effects) {
	if r.Replicas != nil {
		e |= assigns
	}
	if r.Leader != noLeaderChange {
		e |= elects
	}
	return e
}

func (d *Delta) setPartition(ref image.TopicRef, number int32, p *image.Partition) error {
	if err := d.builder.Topics().SetPartition(ref, number, p); err != nil {
		return conflict("%v", err)
	}
	d.touch(ref)
	return nil
}

// replayClearElr empties the ELRs of one topic, or of all if it names none.
// The topic counts as touched even where nothing changes, and even if the
// record names no topic.
func (d *Delta) replayClearElr(r *record.ClearElrRecord) error {
	topics := d.builder.Topics()
	if r.TopicName != "" {
		ref, ok := topics.FindName(r.TopicName)
		if !ok {
			return fmt.Errorf("%w: %s", ErrUnknownTopic, r.TopicName)
		}
		return d.clearElr(ref)
	}
	for ref := range topics.Refs() {
		if err := d.clearElr(ref); err != nil {
			return err
		}
	}
	return nil
}

func (d *Delta) clearElr(ref image.TopicRef) error {
	d.touch(ref)
	d.note(source{ref: ref, number: noPartition, kind: record.TypeClearElrRecord})
	for number, p := range d.builder.Topics().Topic(ref).Partitions() {
		if len(p.Elr)+len(p.LastKnownElr) == 0 {
			continue
		}
		p.Elr, p.LastKnownElr = p.Elr[:0], p.LastKnownElr[:0]
		p.PartitionEpoch++
		if err := d.setPartition(ref, number, p); err != nil {
			return err
		}
	}
	return nil
}

func setRecoveryState(p *image.Partition, state int8) error {
	if state != image.LeaderRecovered && state != image.LeaderRecovering {
		return conflict("leader recovery state %d", state)
	}
	p.LeaderRecoveryState = state
	return nil
}

// settleDirectories makes one directory for each replica out of none or of
// none that was ever recorded (DirectoryId, Replicas.withUnknownDirs).
func settleDirectories(p *image.Partition) error {
	if len(p.Directories) == len(p.Replicas) {
		return nil
	}
	if slices.ContainsFunc(p.Directories, func(id kafka.UUID) bool { return id != kafka.DirMigrating }) {
		return conflict("%d directories for %d replicas", len(p.Directories), len(p.Replicas))
	}
	p.Directories = nil
	for range p.Replicas {
		p.Directories = append(p.Directories, kafka.DirMigrating)
	}
	return nil
}

// nodes is the same memory as a list of node ids, which have the
// representation of an int32.
func nodes(ids []int32) []kafka.NodeID {
	return unsafe.Slice((*kafka.NodeID)(unsafe.SliceData(ids)), len(ids))
}

func appendNodes(list []kafka.NodeID, ids []int32) []kafka.NodeID {
	for _, id := range ids {
		list = append(list, kafka.NodeID(id))
	}
	return list
}

func mergeNodes(list *[]kafka.NodeID, ids []int32) {
	if ids != nil {
		*list = appendNodes((*list)[:0], ids)
	}
}
