package admin

import (
	"bytes"
	"iter"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/wire"
)

// streamedMetadata is a Metadata response whose topics are made one after the
// other while they are encoded, in the same memory: a large cluster has hundreds
// of thousands of partitions, and dashboards ask for all of them every few
// seconds.
type streamedMetadata struct {
	*kmsg.MetadataResponse // without topics
	count, partitions      int
	topics                 iter.Seq[*kmsg.MetadataResponseTopic] // each is overwritten by the next
	// encoded, unless nil, are the topics; else keep, unless nil, is handed them.
	encoded []byte
	keep    func(encoded []byte)
}

// partitionBytes is about what a partition with three replicas takes.
const partitionBytes = 48

// AppendTo implements kmsg.Response. What comes before and after the topics is
// cut out of the response without any, a topic out of one that has nothing else.
func (s *streamedMetadata) AppendTo(b []byte) []byte {
	version := s.GetVersion()
	after := bytesAfterTopics(version)
	whole := s.MetadataResponse.AppendTo(nil)
	b = append(b, whole[:len(whole)-after-len(appendCount(nil, version, 0))]...)
	b = appendCount(b, version, s.count)
	if room := s.partitions*partitionBytes + after; cap(b)-len(b) < room {
		b = append(make([]byte, 0, len(b)+room), b...)
	}
	from := len(b)
	if s.encoded != nil {
		b = append(b, s.encoded...)
	} else {
		b = s.appendTopics(b, after)
	}
	if s.keep != nil {
		s.keep(bytes.Clone(b[from:]))
	}
	return append(b, whole[len(whole)-after:]...)
}

func (s *streamedMetadata) appendTopics(b []byte, after int) []byte {
	one := &kmsg.MetadataResponse{Version: s.GetVersion()}
	before := len(one.AppendTo(nil)) - after
	one.Topics = make([]kmsg.MetadataResponseTopic, 1)
	var scratch []byte
	for t := range s.topics {
		one.Topics[0] = *t
		scratch = one.AppendTo(scratch[:0])
		b = append(b, scratch[before:len(scratch)-after]...)
	}
	return b
}

// bytesAfterTopics is the size of the fields that follow the topics: authorized
// operations in v8 to v10, an error code from v13 on, and tagged fields from v9 on.
func bytesAfterTopics(version int16) (n int) {
	if version >= 8 && version <= 10 {
		n += 4
	}
	if version >= 13 {
		n += 2
	}
	if version >= 9 {
		n++
	}
	return n
}

// appendCount adds the length of a list of topics: there is always one.
func appendCount(b []byte, version int16, n int) []byte {
	if version >= 9 {
		return wire.AppendCompactLen(b, n)
	}
	return wire.AppendInt32(b, int32(n))
}
