// Package rowvalue writes values for the store that are structs: as CBOR (RFC 8949),
// maps with the names of their fields, and reads them without trust.
package rowvalue

import "github.com/fxamacker/cbor/v2"

// Strings are kept as bytes: those of Kafka need not be UTF-8.
var (
	encoding, _ = cbor.EncOptions{String: cbor.StringToByteString}.EncMode()
	decoding, _ = cbor.DecOptions{
		ByteStringToString: cbor.ByteStringToStringAllowed, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden, MaxArrayElements: 1 << 24,
	}.DecMode()
)

// Encode is a value of a type that has nothing but data in it, as a row.
func Encode(v any) []byte {
	b, _ := encoding.Marshal(v) // such a type has no error
	return b
}

// Decode reads into what v points at. The error says what is wrong with the
// bytes: no CBOR, an unknown field, one that is there twice.
func Decode(row []byte, v any) error { return decoding.Unmarshal(row, v) }
