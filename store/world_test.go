package store

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/topichash"
)

// world is a sidecar's state in plain maps, and a source of random events. Its
// partition 0 of __consumer_offsets is never started over, and its offset is
// the number of the slice, so that a store says which slice it is of.
type world struct {
	t          testing.TB
	rng        *rand.Rand
	image      *image.MetadataImage
	partitions map[int32]*worldPartition
	model      map[string][]byte
	hashes     map[string]HashRecord
	rebalances map[int32]map[string][]byte
	exports    map[ExportKey]ExportRow
	changes    map[kafka.Offset][]byte
	now        time.Time
	slice      int
	store      *Store
}

type worldPartition struct {
	at   PartitionOffset
	rows map[string]groups.Row
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), image: image.Empty(), now: start,
		partitions: map[int32]*worldPartition{}, model: map[string][]byte{}, hashes: map[string]HashRecord{},
		rebalances: map[int32]map[string][]byte{rebalance.HistoryPartition: {}, 0: {}, 255: {}}, exports: map[ExportKey]ExportRow{},
		changes: map[kafka.Offset][]byte{},
	}
}

var start = time.UnixMilli(1_700_000_000_000)

// smallPebble makes a few hundred rows enough for flushes and compactions.
func smallPebble(o *pebble.Options) {
	o.MemTableSize = 16 << 10
	o.L0CompactionThreshold = 2
	o.LBaseMaxBytes = 64 << 10
	o.MaxManifestFileSize = 256
}

func memOptions(fs vfs.FS) Options {
	return Options{FS: fs, Now: start, ClusterID: "cluster-a", tune: smallPebble, ahead: 2 << 10}
}

// turn makes the events of a slice and hands them to the store.
func (w *world) turn() {
	w.slice++
	for range 1 + w.rng.IntN(3) {
		switch w.rng.IntN(11) {
		case 0, 1, 2, 3:
			w.metadata(w.records(1 + w.rng.IntN(4)))
		case 4:
			w.snapshot()
		case 5:
			w.hash()
		case 6:
			w.modelRow()
		case 7:
			w.start(1 + w.rng.Int32N(3))
		case 8:
			w.rebalance()
			w.export()
			w.change()
		default:
			w.group(w.rng.Int32N(4))
		}
	}
	w.offset(0, kafka.Offset(w.slice))
	w.now = w.now.Add(time.Duration(w.rng.IntN(80)) * time.Millisecond)
}

func (w *world) metadata(records []record.Message) {
	d := delta.New(w.image)
	for _, m := range records {
		_ = d.Replay(m) // some contradict the image, and change nothing
	}
	w.publish(d)
}

func (w *world) publish(d *delta.Delta) {
	p := w.image.Provenance()
	w.image = d.Apply(image.Provenance{Offset: p.Offset + 3, Epoch: max(p.Epoch, 1), AppendTime: w.now.UnixMilli()})
	w.store.Metadata(d)
}

// snapshot loads one that lacks a few things of the image.
func (w *world) snapshot() {
	d := delta.NewSnapshot(w.image)
	require.NoError(w.t, w.image.Write(func(m record.Message, _ int16) error {
		if _, topic := m.(*record.TopicRecord); !topic && w.rng.IntN(20) == 0 {
			return nil
		}
		return d.Replay(m)
	}))
	w.publish(d)
}

func (w *world) topicID() kafka.UUID { return kafka.UUID{7, byte(w.rng.IntN(12))} }

func (w *world) records(n int) (list []record.Message) {
	for range n {
		list = append(list, w.record()...)
	}
	return list
}

func (w *world) record() []record.Message {
	id, broker := w.topicID(), w.rng.Int32N(5)
	name := fmt.Sprintf("topic-%d", w.rng.IntN(12))
	text := func(n int) *string { s := fmt.Sprint("value-", w.rng.IntN(n)); return &s }
	switch w.rng.IntN(14) {
	case 0, 1, 2:
		return append([]record.Message{&record.TopicRecord{TopicID: id, Name: name}}, w.newPartitions(id)...)
	case 3, 4:
		leader := broker
		return []record.Message{&record.PartitionChangeRecord{TopicID: id, PartitionID: []int32{0, 1, 256}[w.rng.IntN(3)], Leader: leader, Isr: []int32{leader}, LeaderRecoveryState: -1}}
	case 5:
		return []record.Message{&record.RemoveTopicRecord{TopicID: id}}
	case 6:
		return []record.Message{&record.RegisterBrokerRecord{
			BrokerID: broker, BrokerEpoch: 1, Rack: text(3), LogDirs: []kafka.UUID{{1, byte(w.rng.IntN(20))}},
			EndPoints: []record.BrokerEndpoint{{Name: "A", Host: "h", Port: 9092}}, InControlledShutdown: w.rng.IntN(2) == 0,
		}}
	case 7:
		return []record.Message{&record.FenceBrokerRecord{ID: broker, Epoch: 1}}
	case 8:
		return []record.Message{&record.ConfigRecord{ResourceType: image.TopicConfig, ResourceName: name, Name: "retention.ms", Value: text(5)}}
	case 9:
		return []record.Message{&record.ConfigRecord{ResourceType: image.TopicConfig, ResourceName: name, Name: "retention.ms"}}
	case 10:
		return []record.Message{&record.FeatureLevelRecord{Name: image.MetadataVersionFeature, FeatureLevel: 7 + int16(w.rng.IntN(20))}}
	case 11:
		return []record.Message{&record.ClientQuotaRecord{Entity: []record.EntityData{{EntityType: "user", EntityName: text(3)}}, Key: "producer_byte_rate", Value: 1, Remove: w.rng.IntN(3) == 0}}
	case 12:
		return []record.Message{&record.UserScramCredentialRecord{Name: *text(3), Mechanism: 1, Salt: []byte{1}, StoredKey: []byte{2}, ServerKey: []byte{3}, Iterations: 4096}}
	}
	return []record.Message{&record.ProducerIdsRecord{NextProducerID: w.rng.Int64N(1000)}}
}

// newPartitions has holes between the chunks, so that it stays small.
func (w *world) newPartitions(id kafka.UUID) (list []record.Message) {
	for _, p := range []int32{0, 1, 2, 255, 256, 257, 600}[:w.rng.IntN(8)] {
		a := w.rng.Int32N(5)
		list = append(list, &record.PartitionRecord{
			TopicID: id, PartitionID: p, Replicas: []int32{a, (a + 1) % 5}, Isr: []int32{a}, Leader: a, LeaderEpoch: w.rng.Int32N(1000),
			Directories: []kafka.UUID{{1, byte(w.rng.IntN(4))}, {2}},
		})
	}
	return list
}

func (w *world) partition(number int32) *worldPartition {
	p := w.partitions[number]
	if p == nil {
		p = w.start(number)
	}
	return p
}

func (w *world) start(number int32) *worldPartition {
	p := &worldPartition{rows: map[string]groups.Row{}}
	w.partitions[number] = p
	w.store.GroupsStart(number)
	w.offset(number, 0)
	return p
}

func (w *world) offset(number int32, next kafka.Offset) {
	p := w.partition(number)
	p.at = PartitionOffset{TopicID: kafka.UUID{1}, Next: next, LeaderEpoch: 2, SeenAt: w.now.UnixMilli()}
	w.store.GroupsOffset(number, p.at)
}

func (w *world) group(number int32) {
	p := w.partition(number)
	var effects []groups.Effect
	for range 1 + w.rng.IntN(5) {
		row := groups.Row{Kind: groups.RowKind(1 + w.rng.IntN(4)), ProducerID: -1, Key: fmt.Appendf(nil, "key-%d", w.rng.IntN(30))}
		if row.Kind == groups.RowPending {
			row.ProducerID = w.rng.Int64N(3)
		}
		if row.Kind == groups.RowShard {
			row.Key = nil
		}
		id := fmt.Sprint(row.Kind, row.ProducerID, string(row.Key))
		if w.rng.IntN(4) == 0 {
			delete(p.rows, id)
			effects = append(effects, groups.Effect{Delete: true, Row: row})
			continue
		}
		row.Value = make([]byte, w.rng.IntN(200))
		for i := range row.Value {
			row.Value[i] = byte(w.rng.Uint32())
		}
		row.Offset, row.Timestamp = kafka.Offset(w.slice), w.now.UnixMilli()
		p.rows[id] = row
		effects = append(effects, groups.Effect{Row: row})
	}
	w.store.Group(number, effects)
	if number > 0 {
		w.offset(number, p.at.Next+1)
	}
}

func (w *world) hash() {
	group := fmt.Sprintf("group-%d", w.rng.IntN(6))
	if w.rng.IntN(4) == 0 {
		delete(w.hashes, group)
		w.store.ForgetHash(group)
		return
	}
	w.hashes[group] = HashRecord{
		Type: groups.Consumer, Epoch: w.rng.Int32(), Scheme: topichash.Kafka, Stored: int64(w.rng.Uint64()), Computed: int64(w.rng.Uint64()),
		MetadataOffset: w.image.Provenance().Offset, Verdict: topichash.Stale, Since: w.now.UnixMilli(),
	}
	w.store.Hash(group, w.hashes[group])
}

func (w *world) modelRow() {
	name := fmt.Sprintf("topic/%d", w.rng.IntN(6))
	if w.rng.IntN(4) == 0 {
		delete(w.model, name)
		w.store.Model(name, nil)
		return
	}
	w.model[name] = fmt.Appendf(nil, "%d", w.rng.Uint64())
	w.store.Model(name, w.model[name])
}

// rebalance writes and removes rows, some with all that begin with the same.
func (w *world) rebalance() {
	number := []int32{rebalance.HistoryPartition, 0, 255}[w.rng.IntN(3)]
	row := rebalance.Row{Partition: number, Key: []byte{'r', 0xff, byte(254 + w.rng.IntN(2))}}
	if w.rng.IntN(3) > 0 {
		row.Key = append(row.Key, byte(w.rng.IntN(2)))
	}
	switch w.rng.IntN(4) {
	case 0:
		row.Members = true
	case 1:
	default:
		row.Value = fmt.Appendf(nil, "%d", w.rng.Uint64())
	}
	w.putRebalance(row)
	w.store.Rebalance(row)
}

func (w *world) export() {
	k, row := ExportKey{w.rng.Int32N(2), kafka.Offset(w.rng.IntN(3))}, ExportRow{State: ExportState(w.rng.IntN(4))}
	if row.State == ExportOpen {
		row.Open = fmt.Appendf(nil, "%d", w.rng.Uint64())
	}
	w.exports[k] = row
	if row.State == 0 {
		delete(w.exports, k)
	}
	w.store.Export(k, row)
}

// change adds a row, and removes another one.
func (w *world) change() {
	old, offset := kafka.Offset(w.rng.IntN(300)), kafka.Offset(w.rng.IntN(300))
	delete(w.changes, old)
	w.store.Change(old, nil)
	w.changes[offset] = fmt.Appendf(nil, "%d", w.rng.Uint64())
	w.store.Change(offset, w.changes[offset])
}

func (w *world) putRebalance(row rebalance.Row) {
	rows := w.rebalances[row.Partition]
	if row.Value != nil {
		rows[string(row.Key)] = row.Value
		return
	}
	maps.DeleteFunc(rows, func(key string, _ []byte) bool {
		return key == string(row.Key) || row.Members && strings.HasPrefix(key, string(row.Key))
	})
}

// state is for Rebuild.
func (w *world) state() State {
	return State{Image: w.image, Model: maps.All(w.model), Hashes: maps.All(w.hashes), Rebalances: w.rebalanceRows, ExportsOf: []int32{0, 1}, Exports: maps.All(w.exports), Changes: maps.All(w.changes)}
}

func (w *world) rebalanceRows(yield func(rebalance.Row) bool) {
	for number, rows := range w.rebalances {
		if !yield(rebalance.Row{Partition: number, Members: true}) {
			return
		}
		for key, value := range rows {
			if !yield(rebalance.Row{Partition: number, Key: []byte(key), Value: value}) {
				return
			}
		}
	}
}

// save keeps the world as it is now. The text is made only when it is needed.
func (w *world) save() *world {
	c := &world{image: w.image, model: maps.Clone(w.model), hashes: maps.Clone(w.hashes), partitions: map[int32]*worldPartition{}}
	c.rebalances, c.exports, c.changes = map[int32]map[string][]byte{}, maps.Clone(w.exports), maps.Clone(w.changes)
	for number, rows := range w.rebalances {
		c.rebalances[number] = maps.Clone(rows)
	}
	for number, p := range w.partitions {
		c.partitions[number] = &worldPartition{p.at, maps.Clone(p.rows)}
	}
	return c
}

// dump is all that a store holds, or should hold.
func (w *world) dump() string {
	var b strings.Builder
	b.WriteString(imageText(w.image))
	for _, name := range slices.Sorted(maps.Keys(w.model)) {
		fmt.Fprintf(&b, "model %s = %s\n", name, w.model[name])
	}
	for _, group := range slices.Sorted(maps.Keys(w.hashes)) {
		fmt.Fprintf(&b, "hash %s = %+v\n", group, w.hashes[group])
	}
	fmt.Fprintln(&b, "exports", w.exports)
	for _, offset := range slices.Sorted(maps.Keys(w.changes)) {
		fmt.Fprintf(&b, "change %d = %s\n", offset, w.changes[offset])
	}
	for _, number := range slices.Sorted(maps.Keys(w.rebalances)) {
		for _, key := range slices.Sorted(maps.Keys(w.rebalances[number])) {
			fmt.Fprintf(&b, "rebalance %d %x = %s\n", number, key, w.rebalances[number][key])
		}
	}
	for _, number := range slices.Sorted(maps.Keys(w.partitions)) {
		p := w.partitions[number]
		fmt.Fprintf(&b, "partition %d %+v\n", number, p.at)
		for _, id := range slices.Sorted(maps.Keys(p.rows)) {
			fmt.Fprintln(&b, rowText(p.rows[id]))
		}
	}
	return b.String()
}

func rowText(r groups.Row) string {
	return fmt.Sprintf("  %d %d %q offset %d at %d: %x", r.Kind, r.ProducerID, r.Key, r.Offset, r.Timestamp, r.Value)
}

// imageText does not depend on the order of the topics.
func imageText(m *image.MetadataImage) string {
	lines := strings.Split(string(m.AppendText(nil, wire.ShowSecrets)), "\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n"
}

// reload makes a world of what a store holds. It fails on whatever Load does.
func reload(t testing.TB, s *Store) *world {
	w, err := load(t, s)
	require.NoError(t, err)
	return w
}

func load(t testing.TB, s *Store) (w *world, err error) {
	w = newWorld(t, 0)
	w.store = s
	if w.image, err = s.LoadImage(); err != nil {
		return w, err
	}
	if w.model, err = s.LoadModel(); err != nil {
		return w, err
	}
	if w.hashes, err = s.LoadHashes(); err != nil {
		return w, err
	}
	for number := range int32(2) {
		exports, err := s.LoadExports(number)
		if err != nil {
			return w, err
		}
		maps.Copy(w.exports, exports)
	}
	err = s.LoadChanges(func(rows iter.Seq2[kafka.Offset, []byte]) error {
		for offset, row := range rows {
			w.changes[offset] = slices.Clone(row)
		}
		return nil
	})
	if err != nil {
		return w, err
	}
	for number := range w.rebalances {
		err = s.LoadRebalances(number, func(rows iter.Seq2[[]byte, []byte]) error {
			for key, value := range rows {
				w.rebalances[number][string(key)] = slices.Clone(value)
			}
			return nil
		})
		if err != nil {
			return w, err
		}
	}
	for number := range s.Durable().Partitions {
		p := &worldPartition{rows: map[string]groups.Row{}}
		w.partitions[number] = p
		p.at, _, err = s.LoadGroups(number, func(rows iter.Seq[groups.Row]) error {
			for row := range rows {
				row.Key, row.Value = slices.Clone(row.Key), slices.Clone(row.Value)
				p.rows[fmt.Sprint(row.Kind, row.ProducerID, string(row.Key))] = row
			}
			return nil
		})
		if err != nil {
			return w, err
		}
	}
	w.slice = int(w.partitions0())
	return w, nil
}

// partitions0 is the slice that a loaded world is of.
func (w *world) partitions0() kafka.Offset {
	if p := w.partitions[0]; p != nil {
		return p.at.Next
	}
	return 0
}

func open(t testing.TB, o Options) *Store {
	s, warning, err := Open("dir", o)
	require.NoError(t, err)
	require.Nil(t, warning)
	return s
}

// requireSame compares two worlds, and shows no more than where they differ.
func requireSame(t testing.TB, want, got *world, message string) {
	a, b := want.dump(), got.dump()
	if a == b {
		return
	}
	var differences []string
	other := strings.Split(b, "\n")
	for _, line := range strings.Split(a, "\n") {
		if !slices.Contains(other, line) {
			differences = append(differences, "- "+line)
		}
	}
	first := strings.Split(a, "\n")
	for _, line := range other {
		if !slices.Contains(first, line) {
			differences = append(differences, "+ "+line)
		}
	}
	require.Fail(t, message, strings.Join(differences[:min(len(differences), 20)], "\n"))
}
