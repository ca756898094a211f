// Package store keeps what a sidecar knows across a restart: the metadata
// image, the rows of the groups, the hash model, the rebalances, and how far
// each log was read. It is a directory with a Pebble database in it;
// docs/format/store.md gives every byte.
//
// # What is promised
//
// Effects are collected in memory and committed together. A commit holds the
// effects of a prefix of each log and the offsets of these prefixes, and is
// one batch of Pebble: after a crash at any point the store is as some commit
// left it, and not older than Durable said (invariant 3). What would make a
// batch too large, a whole image, is written ahead under a generation of its
// own, which nobody reads until a commit names it.
//
// Nothing that happens to the disk stops the process or the writer. Where
// something does happen (the disk is full, the limit is reached, a write fails,
// the files are damaged, or the caller cannot read what was in them, see
// Condemn) persisting stops, Status says why, and effects are dropped. When it
// is worth trying again, Recoverable says so; the writer then hands over the
// whole state with Rebuild, and persisting goes on.
//
// # Goroutines
//
// One goroutine at a time may call a Store: the writer. Status and Durable may
// be called by any. Pebble runs on goroutines of the store's own,
// since it stops the one on which it meets an error that it cannot handle.
//
// The clock is the caller's: the time in MaybeCommit. Only a disk that does not
// answer is noticed by a clock of the store's own.
//
// # Non-obvious
//
//   - Pebble never sees that the disk fails: see guard. A database that failed is left
//     as it is, with its goroutines, and another is opened beside it.
//   - What the engine's goroutine does may go on after the caller has given it up
//     as failed. So the two share nothing but what they pass each other.
//   - Every batch has a number, because a damaged manifest makes Pebble lose some
//     in the middle without a word: see chain.
//   - The clock that patience is measured by is the system's, and not the caller's,
//     which may jump.
package store
