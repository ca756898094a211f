// Package transactionrecord holds the records of the transaction coordinator's
// log, __transaction_state, as Go structs with their encoding in every version
// of Kafka 4.0 to 4.4. It has the same shape as groups/record, whose contract
// applies.
package transactionrecord
