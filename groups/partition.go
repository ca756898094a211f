package groups

import "math"

// PartitionFor is the partition of __consumer_offsets that holds a group, of n
// partitions, n > 0. n is the partition count at the time when the coordinator
// started (GroupCoordinatorService.partitionFor).
func PartitionFor(group string, n int32) int32 {
	h := javaHash(group)
	if h == math.MinInt32 {
		return 0 // as Kafka's Utils.abs
	}
	return max(h, -h) % n
}

// javaHash is Java's String.hashCode, which runs over UTF-16 code units.
func javaHash(s string) (h int32) {
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + (0xd800 + r>>10)
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + r
	}
	return h
}
