package topichash

import (
	"cmp"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Java's strings are UTF-16, and both their order and what Kafka hashes of
// them follow the code units. Ours are UTF-8 as they stand in the log.

// compareUTF16 orders a and b as java.lang.String.compareTo does: by UTF-16
// code unit. That is the order of their UTF-8 bytes, but for characters beyond
// U+FFFF: the surrogates they consist of come before U+E000.
func compareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(utf16Order(a[i]), utf16Order(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// utf16Order moves the lead bytes of U+E000 to U+FFFF (EE, EF) behind those of
// the characters beyond (F0 to F4). It is a permutation of the bytes, so
// compareUTF16 is an order even of strings that are no UTF-8.
func utf16Order(lead byte) byte {
	switch {
	case lead < 0xEE:
		return lead
	case lead < 0xF0:
		return lead + 0x10
	default:
		return lead - 2
	}
}

// putRune writes the one or two code units of r into b, which has room for
// four bytes, and returns the number of bytes.
func putRune(b []byte, r rune) int {
	if r <= 0xFFFF {
		binary.LittleEndian.PutUint16(b, uint16(r))
		return 2
	}
	high, low := utf16.EncodeRune(r)
	binary.LittleEndian.PutUint16(b, uint16(high))
	binary.LittleEndian.PutUint16(b[2:], uint16(low))
	return 4
}

// appendKafkaRack adds a rack as released Kafka does: its length in code
// units, the code units, and the length again.
func appendKafkaRack(b []byte, rack string) []byte {
	units := uint32(0)
	for _, r := range rack {
		units += uint32(utf16.RuneLen(r))
	}
	b = binary.LittleEndian.AppendUint32(b, units)
	for _, r := range rack {
		var unit [utf8.UTFMax]byte
		b = append(b, unit[:putRune(unit[:], r)]...)
	}
	return binary.LittleEndian.AppendUint32(b, units)
}

// appendKIPRack adds a rack as the text of KIP-1101 does: its UTF-8 bytes.
func appendKIPRack(b []byte, rack string) []byte { return append(b, rack...) }
