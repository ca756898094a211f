package image

import (
	"encoding/binary"

	"github.com/kraftside/kraftside/internal/kafka"
)

// The unpacked form of a partition that no row layout holds: one under
// reassignment, one of more than four replicas, one whose ISR is no selection
// of its replicas. Every list is its length and its elements as varints.

func appendWide(b []byte, p *Partition) []byte {
	for _, list := range p.lists() {
		b = binary.AppendUvarint(b, uint64(len(*list)))
		for _, id := range *list {
			b = binary.AppendVarint(b, int64(id))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(p.Directories)))
	for _, dir := range p.Directories {
		b = append(b, dir[:]...)
	}
	b = binary.AppendVarint(b, int64(p.Leader))
	b = binary.AppendVarint(b, int64(p.LeaderRecoveryState))
	b = binary.AppendVarint(b, int64(p.LeaderEpoch))
	return binary.AppendVarint(b, int64(p.PartitionEpoch))
}

// readWide fills p, which is reset, with what appendWide wrote.
func readWide(s string, p *Partition) {
	for _, list := range p.lists() {
		*list = readWideList(&s, *list)
	}
	for range wideNumber(&s) {
		p.Directories = append(p.Directories, kafka.UUID([]byte(s[:16])))
		s = s[16:]
	}
	p.Leader = kafka.NodeID(unzigzag(wideNumber(&s)))
	p.LeaderRecoveryState = int8(unzigzag(wideNumber(&s)))
	p.LeaderEpoch = kafka.Epoch(unzigzag(wideNumber(&s)))
	p.PartitionEpoch = int32(unzigzag(wideNumber(&s)))
}

// readWideReplicas adds the replicas, which come first, to list.
func readWideReplicas(s string, list []kafka.NodeID) []kafka.NodeID { return readWideList(&s, list) }

func (p *Partition) lists() [6]*[]kafka.NodeID {
	return [...]*[]kafka.NodeID{&p.Replicas, &p.Isr, &p.RemovingReplicas, &p.AddingReplicas, &p.Elr, &p.LastKnownElr}
}

func readWideList(s *string, list []kafka.NodeID) []kafka.NodeID {
	for range wideNumber(s) {
		list = append(list, kafka.NodeID(unzigzag(wideNumber(s))))
	}
	return list
}

func wideNumber(s *string) (v uint64) {
	for i, shift := 0, uint(0); ; i, shift = i+1, shift+7 {
		c := (*s)[i]
		v |= uint64(c&0x7F) << shift
		if c < 0x80 {
			*s = (*s)[i+1:]
			return v
		}
	}
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
