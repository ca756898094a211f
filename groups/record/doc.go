// Package record holds the records of the group coordinator's log,
// __consumer_offsets, as Go structs with their encoding in every version of
// Kafka 4.0 to 4.4, and the two structs that classic consumers put into them.
//
// The structs are generated from the field tables of internal/recordgen: a key
// and a value per record type, with the union of the fields of all versions. A
// field that a version lacks has its default after decoding, and is left out
// when that version is written or printed. Tagged fields that are not known
// are kept and written back. An array or bytes that may be null are nil for
// null only; any other is empty for nil. The zero value of a struct is not its
// default: StreamsGroupMetadataValue.ValidatedTopologyEpoch, for one, is -1
// when it is absent. Use Reset.
//
// Kafka added tagged fields to several types without a new version, so what a
// value holds depends on the release that wrote it: MetadataHash, for one, is
// 0 in every ConsumerGroupMetadata of Kafka 4.0. Two types changed their bytes
// without a new version, since share groups were early access in 4.0:
// ShareGroupMetadata and ShareGroupStatePartitionMetadata. They are read in
// the form of 4.1 and later, and only if that does not fit the value exactly,
// in the form of 4.0 (field Form40).
package record
