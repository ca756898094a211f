package image

import (
	"encoding/binary"

	"github.com/kraftside/kraftside/internal/kafka"
)

// layout says how the rows of one chunk are packed: how many replicas, and
// how many bytes each number takes. All rows of a chunk are of one size, so
// that a row is found by multiplication and changed in place.
//
// A row is
//
//	ISR      1 byte, a subset code; rowWide or rowAbsent instead
//	leader   1 byte: position in the replicas or noLeader, and recovery<<4
//	epochs   leader epoch, then partition epoch: 1, 2 or 4 bytes each
//	replicas 2 or 4 bytes each
//	dirs     0 bytes: every directory has slot 0; 1: two bits each; 2: four
//	ELR      0 bytes, or two subset codes: ELR and last known ELR
//
// A row that does not fit any layout is rowWide: the four bytes from 0 hold
// the marker and the place of an unpacked form behind the rows. Numbers are
// little-endian.
type layout struct {
	replicas            uint8 // replicas of each partition, at most maxPackedReplicas
	idBytes             uint8 // 2 or 4
	dirBytes            uint8 // 0, 1 or 2
	leaderEpochBytes    uint8 // 1, 2 or 4
	partitionEpochBytes uint8 // 1, 2 or 4
	elr                 bool
}

const (
	rowWide   = 0xFF // the partition is in the wide part of the chunk
	rowAbsent = 0xFE // there is no such partition
	noLeader  = 7

	minRowSize = 4 // a marker and a 24-bit place
)

// smallest is the layout that every other one contains.
var smallest = layout{idBytes: 2, leaderEpochBytes: 1, partitionEpochBytes: 1}

func (l layout) size() int {
	n := 2 + int(l.leaderEpochBytes) + int(l.partitionEpochBytes) + int(l.replicas)*int(l.idBytes) + int(l.dirBytes)
	if l.elr {
		n += 2
	}
	return n
}

// contains says whether a row that needs m fits into l. The number of
// replicas must be the same.
func (l layout) contains(m layout) bool {
	return l.replicas == m.replicas && l.idBytes >= m.idBytes && l.dirBytes >= m.dirBytes &&
		l.leaderEpochBytes >= m.leaderEpochBytes && l.partitionEpochBytes >= m.partitionEpochBytes &&
		(l.elr || !m.elr)
}

// union is the smallest layout that contains both; m.replicas counts.
func (l layout) union(m layout) layout {
	return layout{
		replicas:            m.replicas,
		idBytes:             max(l.idBytes, m.idBytes),
		dirBytes:            max(l.dirBytes, m.dirBytes),
		leaderEpochBytes:    max(l.leaderEpochBytes, m.leaderEpochBytes),
		partitionEpochBytes: max(l.partitionEpochBytes, m.partitionEpochBytes),
		elr:                 l.elr || m.elr,
	}
}

// layoutBits are the two bytes that a layout takes in a chunk's header.
func (l layout) bits() uint16 {
	b := uint16(l.replicas) | uint16(l.idBytes)<<3 | uint16(l.dirBytes)<<6 |
		uint16(l.leaderEpochBytes)<<8 | uint16(l.partitionEpochBytes)<<11
	if l.elr {
		b |= 1 << 14
	}
	return b
}

func layoutOf(b uint16) layout {
	return layout{
		replicas:            uint8(b & 7),
		idBytes:             uint8(b >> 3 & 7),
		dirBytes:            uint8(b >> 6 & 3),
		leaderEpochBytes:    uint8(b >> 8 & 7),
		partitionEpochBytes: uint8(b >> 11 & 7),
		elr:                 b>>14&1 == 1,
	}
}

// packed is a partition in the numbers of a row, and the layout it needs.
type packed struct {
	need           layout
	isr, leader    uint8
	elr, lastKnown uint8
	slots          [maxPackedReplicas]dirSlot
	newDirectory   bool // some directory has no slot yet
}

// pack works out the row of p; ok is false if p must be wide.
func (p *Partition) pack(dirs *directoryTable) (r packed, ok bool) {
	if len(p.Replicas) > maxPackedReplicas || len(p.Directories) != len(p.Replicas) ||
		len(p.AddingReplicas)+len(p.RemovingReplicas) > 0 || uint8(p.LeaderRecoveryState) > 1 {
		return r, false
	}
	if r.isr, ok = packSubset(p.Replicas, p.Isr); !ok {
		return r, false
	}
	if r.leader, ok = p.packLeader(); !ok {
		return r, false
	}
	r.need = layout{
		replicas:            uint8(len(p.Replicas)),
		idBytes:             2,
		leaderEpochBytes:    numberBytes(int32(p.LeaderEpoch)),
		partitionEpochBytes: numberBytes(p.PartitionEpoch),
	}
	if len(p.Elr)+len(p.LastKnownElr) > 0 {
		if !r.packElr(p) {
			return r, false
		}
	}
	return r, r.packReplicas(p, dirs)
}

func (p *Partition) packLeader() (uint8, bool) {
	at := noLeader
	if p.Leader != kafka.NoNode {
		if at = position(p.Replicas, p.Leader); at < 0 {
			return 0, false
		}
	}
	return uint8(at) | uint8(p.LeaderRecoveryState)<<4, true
}

func (r *packed) packElr(p *Partition) (ok bool) {
	r.need.elr = true
	if r.elr, ok = packSubset(p.Replicas, p.Elr); !ok {
		return false
	}
	r.lastKnown, ok = packSubset(p.Replicas, p.LastKnownElr)
	return ok
}

func (r *packed) packReplicas(p *Partition, dirs *directoryTable) bool {
	for i, id := range p.Replicas {
		if uint32(id) > 0xFFFF {
			r.need.idBytes = 4
		}
		s := dirs.slot(id, p.Directories[i])
		switch {
		case s == noSlot:
			r.newDirectory = true
		case s > 3:
			r.need.dirBytes = 2
		case s > 0:
			r.need.dirBytes = max(r.need.dirBytes, 1)
		}
		r.slots[i] = s
	}
	return !r.newDirectory
}

// numberBytes is how many bytes an epoch takes: 1, 2 or 4.
func numberBytes(v int32) uint8 {
	switch u := uint32(v); {
	case u <= 0xFF:
		return 1
	case u <= 0xFFFF:
		return 2
	}
	return 4
}

// appendRow adds the row of p to b.
func (l layout) appendRow(b []byte, p *Partition, r *packed) []byte {
	b = append(b, r.isr, r.leader)
	b = appendNumber(b, uint32(p.LeaderEpoch), l.leaderEpochBytes)
	b = appendNumber(b, uint32(p.PartitionEpoch), l.partitionEpochBytes)
	for _, id := range p.Replicas {
		b = appendNumber(b, uint32(id), l.idBytes)
	}
	switch l.dirBytes {
	case 1:
		b = append(b, byte(r.slots[0]|r.slots[1]<<2|r.slots[2]<<4|r.slots[3]<<6))
	case 2:
		b = append(b, byte(r.slots[0]|r.slots[1]<<4), byte(r.slots[2]|r.slots[3]<<4))
	}
	if l.elr {
		b = append(b, r.elr, r.lastKnown)
	}
	return b
}

// appendMarker adds a row that is rowAbsent or rowWide. at is the place of a
// wide row behind the rows, below 1<<24.
func (l layout) appendMarker(b []byte, marker byte, at int) []byte {
	b = append(b, marker, byte(at), byte(at>>8), byte(at>>16))
	for n := minRowSize; n < l.size(); n++ {
		b = append(b, 0)
	}
	return b
}

// widePlace reads what appendMarker wrote.
func widePlace(row string) int { return int(row[1]) | int(row[2])<<8 | int(row[3])<<16 }

// readRow fills p, which is reset, from a row that is neither absent nor wide.
func (l layout) readRow(row string, dirs *directoryTable, p *Partition) {
	at := 2
	p.LeaderEpoch = kafka.Epoch(number(row, &at, l.leaderEpochBytes))
	p.PartitionEpoch = int32(number(row, &at, l.partitionEpochBytes))
	for range l.replicas {
		p.Replicas = append(p.Replicas, kafka.NodeID(number(row, &at, l.idBytes)))
	}
	l.readDirectories(row[at:], dirs, p)
	at += int(l.dirBytes)
	p.Isr = appendSubset(p.Isr, p.Replicas, row[0])
	p.Leader = kafka.NoNode
	if slot := row[1] & 7; slot != noLeader {
		p.Leader = p.Replicas[slot]
	}
	p.LeaderRecoveryState = int8(row[1] >> 4)
	if l.elr {
		p.Elr = appendSubset(p.Elr, p.Replicas, row[at])
		p.LastKnownElr = appendSubset(p.LastKnownElr, p.Replicas, row[at+1])
	}
}

func (l layout) readDirectories(column string, dirs *directoryTable, p *Partition) {
	for i, id := range p.Replicas {
		p.Directories = append(p.Directories, dirs.directory(id, l.directorySlot(column, i)))
	}
}

// directorySlot is the slot of replica i.
func (l layout) directorySlot(column string, i int) dirSlot {
	switch l.dirBytes {
	case 1:
		return dirSlot(column[0] >> (2 * i) & 3)
	case 2:
		return dirSlot(column[i/2] >> (4 * (i % 2)) & 15)
	}
	return 0
}

// readReplicas adds the replicas of a row to list.
func (l layout) readReplicas(row string, list []kafka.NodeID) []kafka.NodeID {
	at := 2 + int(l.leaderEpochBytes) + int(l.partitionEpochBytes)
	for range l.replicas {
		list = append(list, kafka.NodeID(number(row, &at, l.idBytes)))
	}
	return list
}

func appendNumber(b []byte, v uint32, bytes uint8) []byte {
	switch bytes {
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return binary.LittleEndian.AppendUint32(b, v)
}

func number(s string, at *int, bytes uint8) uint32 {
	i := *at
	*at += int(bytes)
	switch bytes {
	case 1:
		return uint32(s[i])
	case 2:
		return uint32(s[i]) | uint32(s[i+1])<<8
	}
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}
