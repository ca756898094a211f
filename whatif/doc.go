// Package whatif predicts which groups a planned change of the cluster will
// rebalance, how often, and why.
//
// A Plan is a list of changes, checked against an image. Each becomes the steps
// in which the controller carries it out: a reassignment gives a partition the
// replicas of both sides and then the new ones, a restart takes a broker out of
// the ISR, registers it and brings it back. A step is the records that the
// controller would write, replayed through package delta as they are when it
// writes them, so that what is predicted is what will be computed (invariant
// 12).
//
// A group is predicted by what its coordinator does: it caches the hash of a
// topic until a record names the topic or the coordinator moves, and compares
// when a member heartbeats after that. Where heartbeats fall is not known. So
// every way in which they may fall between the steps is followed, and the
// answer is the range of what comes of them.
//
// # Limits
//
// What the controller chooses is not guessed: the id of a new topic, and the
// brokers of new partitions where their racks differ. What such a hash will be
// is not told, only that it changes. Groups whose records say less (those of
// Kafka 4.0, classic ones) are predicted as far as their coordinator compares
// anything. What members do by themselves, joining or leaving because of a
// change, is not predicted.
//
// The package has no goroutine, clock, log or I/O. A Plan belongs to one
// goroutine.
package whatif
