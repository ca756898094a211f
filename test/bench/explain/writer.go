package main

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	metarecord "github.com/kraftside/kraftside/metadatalog/record"
)

// mix says what a partition of __consumer_offsets holds.
type mix struct {
	name    string
	records int
	groups  int
	largest int // members of the largest group
	// ofGroups is how much of what follows the first records is of groups, the
	// rest is committed offsets.
	ofGroups float64
}

// writer is a coordinator: it makes the records of both logs, the same for the
// same mix.
type writer struct {
	*rand.Rand
	mix
	offsets, meta *segment
	hashes        hashes
	groups        []*group
	committers    []committer
	busy          []*group // those in a rebalance
	grouped       int      // records of groups
	batch         int      // records that the open batch is to have
	clock         int64    // milliseconds since 1970
	err           error
}

// committer is a member, any of which is as likely to commit next.
type committer struct {
	group  *group
	member *member
}

// begin is the time of the first record.
const begin = 1_750_000_000_000

// offsetsPartition is the directory of what is written; so is metadataPartition.
const (
	offsetsPartition  = kafka.OffsetsTopic + "-0"
	metadataPartition = kafka.MetadataTopic + "-0"
)

// write writes both logs into a directory.
func write(dir string, m mix) (err error) {
	w := &writer{Rand: rand.New(rand.NewPCG(1, 2)), mix: m, hashes: newHashes(), clock: begin}
	if w.offsets, err = newSegment(dir, offsetsPartition); err != nil {
		return err
	}
	if w.meta, err = newSegment(dir, metadataPartition); err != nil {
		return err
	}
	w.found()
	w.writeCluster()
	w.writeHead()
	head, before := w.offsets.records, w.grouped
	for w.offsets.records < w.records && w.err == nil && w.offsets.err == nil && w.meta.err == nil {
		w.step(float64(w.grouped-before) < w.ofGroups*float64(w.offsets.records-head))
		w.endOperation()
	}
	w.clock += 60_000 // so that the last bump is past
	w.meta.metadata(w.clock, new(metarecord.NoOpRecord))
	return errors.Join(w.err, w.offsets.close(), w.meta.close())
}

// found makes the groups: most are small, one in five is classic.
func (w *writer) found() {
	for n := range w.mix.groups {
		u := float64(n+1) / float64(w.mix.groups)
		size := int(2 * math.Pow(float64(w.largest)/2, u*u))
		g := w.newGroup(max(2, size), n%5 == 4 && n+1 < w.mix.groups)
		w.groups = append(w.groups, g)
		for _, m := range g.members {
			w.committers = append(w.committers, committer{g, m})
		}
		g.hash, w.err = w.hashes.of(g)
	}
}

// endOperation lets time pass, and ends the batch once it is as large as it is
// to be: coordinators write what comes within a few milliseconds in one.
func (w *writer) endOperation() {
	w.clock += int64(w.IntN(3))
	if len(w.offsets.pending) >= w.batch {
		w.offsets.endBatch()
		w.batch = int(math.Exp(w.Float64() * math.Log(500)))
	}
}

// writeHead writes what compaction has left of the time before: the last record
// of each key, with holes between them.
func (w *writer) writeHead() {
	lone := func(key record.Key, value record.Value) {
		w.clock++
		w.offsets.skip()
		w.row(key, value)
		w.endOperation()
	}
	for _, g := range w.groups {
		if g.classic {
			lone(g.generation(w.clock))
			continue
		}
		for _, m := range g.members {
			lone(g.joined(m))
		}
		for _, m := range g.members {
			lone(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.id, MemberID: m.id}, g.target(m.wants))
		}
		lone(g.bumped())
		lone(g.assigned(w.clock))
		for _, m := range g.members {
			lone(g.said(&report{m, g.epoch, stable, m.owned, nil}))
		}
	}
}

// row writes a record of a group.
func (w *writer) row(key record.Key, value record.Value) {
	w.offsets.group(w.clock, key, value)
	w.grouped++
}

// commit is a member that commits what it has, or, seldom, an offset that
// expires.
func (w *writer) commit() {
	c := &w.committers[w.IntN(len(w.committers))]
	expires := w.IntN(100) == 0
	for _, s := range c.member.owned {
		t := &c.group.topics[s.topic]
		key := &record.OffsetCommitKey{Group: c.group.id, Topic: t.name, Partition: s.partition}
		if expires {
			w.offsets.group(w.clock, key, nil)
			return
		}
		w.offsets.group(w.clock, key, &record.OffsetCommitValue{
			Offset: w.clock - begin, LeaderEpoch: 7, CommitTimestamp: w.clock, ExpireTimestamp: -1, TopicID: t.id,
		})
	}
}
