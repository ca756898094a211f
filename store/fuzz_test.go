package store

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
)

// FuzzReopen stops the machine somewhere in some history, damages a file or
// not, and opens the store.
func FuzzReopen(f *testing.F) {
	f.Add(uint64(1), uint8(20), uint16(30), uint8(50), uint16(0), uint32(0), byte(0))
	f.Add(uint64(2), uint8(40), uint16(90), uint8(0), uint16(1), uint32(700), byte(1))
	f.Add(uint64(3), uint8(60), uint16(200), uint8(100), uint16(5), uint32(100), byte(0xFF))
	f.Fuzz(func(t *testing.T, seed uint64, slices uint8, stopAt uint16, unsynced uint8, file uint16, at uint32, xor byte) {
		found, saved := fuzzHistory(t, seed, int(slices%64), int(stopAt%512), int(unsynced%101))
		if xor != 0 {
			fuzzDamage(t, found.fs, int(file), int(at), xor)
		}
		s, warning, err := Open("dir", memOptions(found.fs))
		if err != nil {
			require.ErrorIs(t, err, ErrMismatch)
			return
		}
		require.True(t, warning == nil || xor != 0, "%v", warning)
		loaded, err := load(t, s)
		if err != nil {
			require.NotZero(t, xor, "%v", err)
			require.True(t, isDamage(err), "%v", err)
		} else {
			requireSame(t, saved[loaded.slice], loaded, found.what)
		}
		if xor == 0 {
			require.GreaterOrEqual(t, loaded.slice, found.atLeast)
		}
		_ = s.Close()
	})
}

// fuzzHistory plays a history up to one operation on the disk, or its end.
func fuzzHistory(t *testing.T, seed uint64, slices, stopAt, unsynced int) (crash, []*world) {
	mem := vfs.NewCrashableMem()
	rng := rand.New(rand.NewPCG(seed, 3))
	found := crash{what: "the end"}
	w := newWorld(t, seed)
	saved := []*world{w.save()}
	c := &crasher{mem: mem, every: 1, rng: rng, only: stopAt, unsynced: unsynced}
	w.store = open(t, memOptions(c.disk()))
	c.store.Store(w.store)
	for range slices {
		w.turn()
		saved = append(saved, w.save())
		w.store.MaybeCommit(w.now)
	}
	require.NoError(t, w.store.Close())
	if list := c.take(); len(list) > 0 {
		found = list[0]
	} else {
		found.fs = mem.CrashClone(vfs.CrashCloneCfg{})
		found.atLeast = w.slice
	}
	return found, saved
}

func fuzzDamage(t *testing.T, fs vfs.FS, file, at int, xor byte) {
	list, err := fs.List("dir/db")
	if err != nil || len(list) == 0 {
		return
	}
	name := "dir/db/" + list[file%len(list)]
	data := readFile(t, fs, name)
	if len(data) == 0 {
		return
	}
	data[at%len(data)] ^= xor
	require.NoError(t, fs.Remove(name))
	require.NoError(t, writeSynced(fs, name, string(data)))
}

// FuzzRows reads arbitrary bytes as every kind of row. What can be read is
// written as something that reads the same.
func FuzzRows(f *testing.F) {
	f.Add([]byte{})
	f.Add((&metadataRow{generation: 1}).append(nil))
	f.Add((&PartitionOffset{Next: 7}).append(nil))
	f.Add((&HashRecord{Verdict: "match"}).append(nil))
	f.Add(appendGroupRow(nil, &groups.Row{Offset: 3, Value: []byte("v")}))
	f.Add(appendTopicHead(nil, "topic"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := readMetadataRow(b); err == nil {
			again, err := readMetadataRow(m.append(nil))
			require.NoError(t, err)
			require.Equal(t, m, again)
		}
		if p, err := readPartitionOffset(b); err == nil {
			again, err := readPartitionOffset(p.append(nil))
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
		if h, err := readHashRecord(b); err == nil {
			again, err := readHashRecord(h.append(nil))
			require.NoError(t, err)
			require.Equal(t, h, again)
		}
		if list, err := readDirectories(b); err == nil {
			require.True(t, bytes.Equal(b, appendDirectories(nil, list)))
		}
		if name, rows, err := readTopicHead(b); err == nil {
			again, rest, err := readTopicHead(append(appendTopicHead(nil, string(name)), rows...))
			require.NoError(t, err)
			require.True(t, bytes.Equal(name, again) && bytes.Equal(rows, rest))
		}
		fuzzGroupRow(t, b)
	})
}

func fuzzGroupRow(t *testing.T, b []byte) {
	for cut := range min(len(b), 12) {
		row, err := readGroupRow(b[:cut], b[cut:])
		if err != nil {
			continue
		}
		key := groupRowKey(nil, 0, &row)[5:]
		again, err := readGroupRow(key, appendGroupRow(nil, &row))
		require.NoError(t, err)
		require.Equal(t, row.Kind, again.Kind)
		require.Equal(t, row.ProducerID, again.ProducerID)
		require.Equal(t, row.Offset, again.Offset)
		require.True(t, bytes.Equal(row.Key, again.Key) && bytes.Equal(row.Value, again.Value))
	}
}
