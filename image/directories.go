package image

import "github.com/kraftside/kraftside/internal/kafka"

// dirSlot is a log directory as a small number: a position in its broker's
// list of known directories, or one of the reserved ids.
type dirSlot uint8

const (
	dirSlots               = 13 // directories of one broker that have a slot
	slotMigrating  dirSlot = 13
	slotUnassigned dirSlot = 14
	slotLost       dirSlot = 15
	denseBrokers           = 4096
	noSlot         dirSlot = 255
)

// directoryTable gives every (broker, directory id) that some partition names
// a slot. A slot never changes its meaning: when a broker registers with
// other directories the old slots stay, so that packed rows stay true. A
// broker's directories past the thirteenth have no slot; the rows that name
// them are kept unpacked.
type directoryTable struct {
	dense  [][]kafka.UUID // by broker id, below denseBrokers
	sparse map[kafka.NodeID][]kafka.UUID
}

func (t *directoryTable) of(broker kafka.NodeID) []kafka.UUID {
	if uint32(broker) < denseBrokers {
		if int(broker) < len(t.dense) {
			return t.dense[broker]
		}
		return nil
	}
	return t.sparse[broker]
}

// slot returns the slot of a directory, or noSlot.
func (t *directoryTable) slot(broker kafka.NodeID, dir kafka.UUID) dirSlot {
	for i, known := range t.of(broker) {
		if known == dir {
			return dirSlot(i)
		}
	}
	switch dir {
	case kafka.DirMigrating:
		return slotMigrating
	case kafka.DirUnassigned:
		return slotUnassigned
	case kafka.DirLost:
		return slotLost
	}
	return noSlot
}

// directory is the inverse of slot.
func (t *directoryTable) directory(broker kafka.NodeID, s dirSlot) kafka.UUID {
	switch s {
	case slotMigrating:
		return kafka.DirMigrating
	case slotUnassigned:
		return kafka.DirUnassigned
	case slotLost:
		return kafka.DirLost
	}
	return t.of(broker)[s]
}

// with returns a table that also has a slot for the directory, and the slot;
// noSlot where the broker has no more. t stays as it is.
func (t *directoryTable) with(broker kafka.NodeID, dir kafka.UUID) (*directoryTable, dirSlot) {
	known := t.of(broker)
	if len(known) == dirSlots {
		return t, noSlot
	}
	grown := append(append(make([]kafka.UUID, 0, len(known)+1), known...), dir)
	return t.withBroker(broker, grown), dirSlot(len(known))
}

func (t *directoryTable) withBroker(broker kafka.NodeID, dirs []kafka.UUID) *directoryTable {
	c := &directoryTable{dense: t.dense, sparse: t.sparse}
	if uint32(broker) < denseBrokers {
		c.dense = make([][]kafka.UUID, max(len(t.dense), int(broker)+1))
		copy(c.dense, t.dense)
		c.dense[broker] = dirs
		return c
	}
	c.sparse = make(map[kafka.NodeID][]kafka.UUID, len(t.sparse)+1)
	for id, d := range t.sparse {
		c.sparse[id] = d
	}
	c.sparse[broker] = dirs
	return c
}
