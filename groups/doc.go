// Package groups replays the records of the group coordinator, so that we hold
// the state of every group that the broker holds, and can say which record it
// comes from.
//
// A Shard is the state of one partition of __consumer_offsets. It is fed with
// every record of that partition in the order of the log, those of open and of
// aborted transactions included, and with the end of each transaction. The
// rules are those of Kafka's GroupMetadataManager, OffsetMetadataManager and
// the group classes, for the records of Kafka 4.0 to 4.4. Where Kafka would
// refuse to load the partition we go on and count an Anomaly: see
// AnomalyKind for what is done in each case.
//
// The state is a function of the records and of Options; the package has no
// goroutine, clock, log or I/O. A Shard belongs to one goroutine. What Freeze
// returns is shared between the shard and all readers, on any goroutine, and
// is never changed: nobody may write to it.
//
// # Rows
//
// A shard is also a set of Rows, and the Outcome of every record says how the
// set changes. Rows are what a store keeps: Restore makes of them a shard that
// equals the one they came from, and goes on as it would have. They are not
// quite the log compacted by key. What a record removed beside its own key
// (the records of a group that record 2 replaces, say) has no row; a tombstone
// that leaves something behind has one, with an empty value; and what no
// record of the log holds (that a group exists although nothing of it is left,
// the anomalies) has rows of its own. So the order of the rows means nothing.
//
// # Non-obvious
//
//   - Offsets belong to a group id, not to a group: removing the group leaves
//     them, and they may be there before the group is.
//   - The epochs of a group that has no record of them depend on the release
//     of the coordinator. They are computed when read, not when the group is
//     created, so Options.NewGroupEpoch may change.
//   - A member exists if its metadata (5, 10, 19) or its current assignment
//     (8, 14, 22) was seen; the target assignment (7, 13, 21) alone makes none.
//   - Members are values: a change makes a new one. That is what makes Freeze
//     cheap.
package groups
