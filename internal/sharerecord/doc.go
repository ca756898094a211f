// Package sharerecord holds the records of the share coordinator's log,
// __share_group_state, as Go structs with their encoding in every version of
// Kafka 4.0 to 4.4. It has the same shape as groups/record, whose contract
// applies.
//
// Share groups were early access in Kafka 4.0, and 4.1 changed the bytes of
// both types without a new version. A value is read in the form of 4.1 and
// later, and only if that does not fit it exactly, in the form of 4.0.
package sharerecord
