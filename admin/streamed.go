package admin

import (
	"bytes"
	"iter"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/wire"
)

// streamed is a response with one long list whose elements are made one after the
// other while they are encoded, in the same memory: a large cluster has hundreds of
// thousands of partitions, and tens of thousands of groups, and dashboards ask for
// all of them every few seconds.
type streamed struct {
	kmsg.Response // without elements
	// elements yields responses that have nothing but the next element, after
	// beforeOne bytes.
	elements         iter.Seq[kmsg.Response]
	count, beforeOne int
	// bytes is about what all elements take, after is what follows them.
	bytes, after int
	// encoded, unless nil, are the elements; else keep, unless nil, is handed them.
	encoded []byte
	keep    func(encoded []byte)
}

// stream is a response whose elements are to come. Empty is one that has nothing
// at all, after says how many bytes follow the list.
func stream(r, empty kmsg.Response, after int) *streamed {
	return &streamed{Response: r, beforeOne: len(empty.AppendTo(nil)) - after, after: after}
}

// AppendTo implements kmsg.Response. What comes before and after the list is cut
// out of the response without elements, an element out of one.
func (s *streamed) AppendTo(b []byte) []byte {
	whole := s.Response.AppendTo(nil)
	before := len(whole) - s.after - len(s.appendCount(nil, 0))
	b = append(b, whole[:before]...)
	b = s.appendCount(b, s.count)
	if room := s.bytes + s.after; cap(b)-len(b) < room {
		b = append(make([]byte, 0, len(b)+room), b...)
	}
	from := len(b)
	if s.encoded != nil {
		b = append(b, s.encoded...)
	} else {
		b = s.appendElements(b)
	}
	if s.keep != nil {
		s.keep(bytes.Clone(b[from:]))
	}
	return append(b, whole[len(whole)-s.after:]...)
}

func (s *streamed) appendElements(b []byte) []byte {
	var scratch []byte
	for one := range s.elements {
		scratch = one.AppendTo(scratch[:0])
		b = append(b, scratch[s.beforeOne:len(scratch)-s.after]...)
	}
	return b
}

// appendCount adds the length of a list, which is never null.
func (s *streamed) appendCount(b []byte, n int) []byte {
	if s.IsFlexible() {
		return wire.AppendCompactLen(b, n)
	}
	return wire.AppendInt32(b, int32(n))
}
