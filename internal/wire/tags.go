package wire

import "fmt"

// RawTag is a tagged field that the reader does not know. It is kept, so that
// a record of a newer Kafka can be written back byte for byte (KIP-482).
type RawTag struct {
	Tag  uint32
	Data []byte
}

// Tag reads the number of a tagged field and its size, and returns where the
// field must end: the argument of EndTag or UnknownTag.
func (r *Reader) Tag() (tag uint32, end int) {
	tag = r.Uvarint()
	size := r.Uvarint()
	if uint64(size) > uint64(r.Len()) {
		r.Fail(fmt.Errorf("%w: tagged field of %d bytes, %d left", ErrTruncated, size, r.Len()))
		return tag, r.pos
	}
	return tag, r.pos + int(size)
}

// EndTag fails unless the field was read to its end and no further.
func (r *Reader) EndTag(end int) {
	if r.OK() && r.pos != end {
		r.Fail(fmt.Errorf("%w: tagged field ends at byte %d", ErrMalformed, end))
	}
}

// UnknownTag copies the field up to end into tags, within their capacity.
func (r *Reader) UnknownTag(tags []RawTag, tag uint32, end int) []RawTag {
	data := r.next(end - r.pos)
	if !r.OK() {
		return tags
	}
	r.unknownTags++
	tags = Extend(tags)
	last := &tags[len(tags)-1]
	last.Tag, last.Data = tag, append(last.Data[:0], data...)
	return tags
}

// UnknownTags reads the tagged fields of a struct that defines none itself.
func (r *Reader) UnknownTags(tags []RawTag) []RawTag {
	tags = tags[:0]
	for n := r.Uvarint(); n > 0 && r.OK(); n-- {
		tag, end := r.Tag()
		tags = r.UnknownTag(tags, tag, end)
	}
	return tags
}

// TagWriter writes the tagged fields of one struct. The fields that the
// struct defines are written between Begin and End in the order of their
// numbers; unknown ones go where their numbers belong, as Kafka puts them.
type TagWriter struct {
	w       *Writer
	unknown []RawTag
	count   uint32
	start   int // of the section: its count goes there
	field   int // of the value of the current field: its size goes there
}

// Tags begins the section of tagged fields. unknown must be in the order of
// the tag numbers, as decoding leaves it.
func (w *Writer) Tags(unknown []RawTag) TagWriter {
	w.buf = append(w.buf, 0)
	return TagWriter{w: w, unknown: unknown, start: len(w.buf)}
}

// UnknownTags writes the tagged fields of a struct that defines none itself.
func (w *Writer) UnknownTags(unknown []RawTag) {
	tags := w.Tags(unknown)
	tags.Close()
}

// Begin starts the field with the given number.
func (t *TagWriter) Begin(tag uint32) {
	t.unknownBelow(uint64(tag))
	t.count++
	t.w.Uvarint(tag)
	t.w.buf = append(t.w.buf, 0)
	t.field = len(t.w.buf)
}

// End ends the current field.
func (t *TagWriter) End() {
	t.w.backfill(t.field, uint32(len(t.w.buf)-t.field))
}

// Close ends the section.
func (t *TagWriter) Close() {
	t.unknownBelow(1 << 32)
	t.w.backfill(t.start, t.count)
}

// unknownBelow writes the unknown fields whose numbers are below tag.
func (t *TagWriter) unknownBelow(tag uint64) {
	for len(t.unknown) > 0 && uint64(t.unknown[0].Tag) < tag {
		u := t.unknown[0]
		t.unknown = t.unknown[1:]
		t.count++
		t.w.Uvarint(u.Tag)
		t.w.Uvarint(uint32(len(u.Data)))
		t.w.Raw(u.Data)
	}
}
