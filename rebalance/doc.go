// Package rebalance explains why a group's epoch was raised, from what both
// logs recorded, and follows the rebalance until its last member has what it
// is to get.
//
// An Explainer takes the images of the metadata log and, for each partition of
// __consumer_offsets, its records. The records of one coordinator operation
// (the same group, the same timestamp, without a gap) are taken together: they
// prove what the operation did beside raising the epoch. A changed MetadataHash
// is explained by the images: the earliest one, after the group's previous
// evaluation, that reproduces the stored hash, alone or mixed with older hashes
// of single topics, since a coordinator caches them topic by topic. What the
// two images differ in is the cause. What made the coordinator look, where that
// is something else, is the trigger.
//
// # The two logs
//
// They are not ordered against each other. An explanation depends on their
// bytes alone and not on which log was read first: it stays open until the
// image that explains it was read, or until the metadata log is past the time
// of the bump by Skew. A record that is read later cannot change what is
// settled.
//
// # Certain and likely
//
// Certain is what records prove. Everything else is likely, with the reason.
// Kafka records neither heartbeats nor why a member was removed, so that
// leaving and timing out are told apart by time alone, and never certain.
//
// # Compacted logs
//
// __consumer_offsets keeps the last record of each key. Of a log that was
// compacted each explanation is what it would be of all records, or it says
// less: a bump is one only if the epoch before it is known or it is its group's
// first, and where epochs are missing the cause is Unknown.
//
// The package has no goroutine, clock, log or I/O. An Explainer belongs to one
// goroutine; a Rebalance that it has handed out never changes.
package rebalance
