// Package logdir follows the log directory of one partition while a broker or
// a controller that we know nothing else of writes to it.
//
// A Follower yields the batches of the log in order, each once, and none that
// reaches past the committed end that its caller gives it: a log directory
// does not say what of it is committed, and the tail that is not may be
// truncated in place and written anew by a later leader. What it reads is
// checked: the CRC, that no offset is missing, that epochs do not go back, and
// that what it yielded last still stands where it stood. Everything is opened
// read-only, nothing is locked, and a file that the broker renames or removes
// is read on through the descriptor that is held.
//
// What Kafka does to such a directory is stated where it matters; the classes
// are org.apache.kafka.storage.internals.log.UnifiedLog, LocalLog, LogCleaner
// and org.apache.kafka.raft.internals.KafkaRaftLog.
package logdir
