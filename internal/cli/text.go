package cli

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// Text builds the text form of an answer. Colours are left out where they may
// not be. Names from Kafka have to go through Name or Escape.
type Text struct {
	Clock
	// Wide says that all columns are wanted.
	Wide  bool
	color bool
	buf   []byte
}

// NewText returns an empty text for an output.
func NewText(o *Output) *Text {
	return &Text{Clock: o.Clock, Wide: o.Wide(), color: o.Color}
}

// Bytes is the text so far.
func (t *Text) Bytes() []byte { return t.buf }

// Reset empties the text and keeps its memory.
func (t *Text) Reset() { t.buf = t.buf[:0] }

// Printf adds to the text.
func (t *Text) Printf(format string, args ...any) { t.buf = fmt.Appendf(t.buf, format, args...) }

// Write implements io.Writer.
func (t *Text) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	return len(b), nil
}

// Bold is s in bold.
func (t *Text) Bold(s string) string { return t.style("1", s) }

// Dim is s set back.
func (t *Text) Dim(s string) string { return t.style("2", s) }

// Red is s as something bad.
func (t *Text) Red(s string) string { return t.style("31", s) }

// Yellow is s as something to look at.
func (t *Text) Yellow(s string) string { return t.style("33", s) }

// Green is s as something good.
func (t *Text) Green(s string) string { return t.style("32", s) }

const styleEnd = "\x1b[0m"

func (t *Text) style(code, s string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + styleEnd
}

// gap is what separates two columns.
const gap = 3

// Table adds rows in aligned columns, each line after indent. Rows may have
// cells of different number; the last cell of a row is not padded.
func (t *Text) Table(indent string, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:max(0, len(row)-1)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-width(cell)+gap)
			}
		}
		t.Printf("%s\n", strings.TrimRight(line, " "))
	}
}

// width is the number of columns that a cell takes on a terminal. The only
// escape sequences in it are those of style.
func width(cell string) int {
	for {
		before, rest, found := strings.Cut(cell, "\x1b[")
		if !found {
			return uniseg.StringWidth(cell)
		}
		_, after, _ := strings.Cut(rest, "m")
		cell = before + after
	}
}
