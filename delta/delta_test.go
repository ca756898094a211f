package delta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// The files under testdata are stories of one line of images. Commands:
//
//	replay             records, one a line, become one delta of the current image
//	snapshot           the same, as a snapshot that stands for the whole image
//	image [match=TEXT] prints the current image's records that contain TEXT
func TestDelta(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		current := image.Empty()
		offset := kafka.Offset(0)
		datadriven.RunTest(t, path, func(t *testing.T, c *datadriven.TestData) string {
			switch c.Cmd {
			case "replay", "snapshot":
				d := New(current)
				if c.Cmd == "snapshot" {
					d = NewSnapshot(current)
				}
				before := current.String()
				err := replayLines(d, c.Input)
				require.Equal(t, before, current.String(), "the base image changed")
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				offset++
				current = d.Apply(image.Provenance{Offset: offset, Epoch: 1})
				return describe(d)
			case "image":
				var match string
				c.MaybeScanArgs(t, "match", &match)
				return matching(current, match)
			}
			return fmt.Sprintf("unknown command %s", c.Cmd)
		})
	})
}

func replayLines(d *Delta, input string) error {
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		m, err := ParseRecord(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		if err := d.Replay(m); err != nil {
			return fmt.Errorf("%s: %w", m.Type().RecordName(), err)
		}
	}
	return nil
}

// describe is what the delta tells of itself.
func describe(d *Delta) string {
	var b strings.Builder
	for t := range d.TouchedTopics() {
		fmt.Fprintf(&b, "touched %s\n", t.Name())
	}
	for _, t := range d.DeletedTopics() {
		fmt.Fprintf(&b, "deleted %s %s\n", t.Name, t.ID)
	}
	if d.HasNewTopics() {
		fmt.Fprintln(&b, "has new topics")
	}
	if d.RacksMoved() {
		fmt.Fprintln(&b, "racks moved")
	}
	for c := range d.Changes() {
		fmt.Fprintln(&b, c)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func matching(m *image.MetadataImage, text string) string {
	var b strings.Builder
	for line := range strings.Lines(string(m.AppendText(nil, wire.HideSecrets))) {
		if strings.Contains(line, text) {
			b.WriteString(line)
		}
	}
	return b.String()
}
