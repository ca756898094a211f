package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Parse reads the debug form of an image, which image.AppendText writes. It
// is meant for tests: an image whose secrets were left out is not equal to
// the one that was printed.
func Parse(text string) (*image.MetadataImage, error) {
	var p image.Provenance
	head, records, _ := strings.Cut(text, "\n")
	if _, err := fmt.Sscanf(head, "offset %d, epoch %d, appended %d", &p.Offset, &p.Epoch, &p.AppendTime); err != nil {
		return nil, fmt.Errorf("parse image, line 1: want an offset, an epoch and a time: %w", err)
	}
	d := New(image.Empty())
	number := 1
	for line := range strings.Lines(records) {
		number++
		m, err := ParseRecord(strings.TrimSuffix(line, "\n"))
		if err == nil {
			err = d.Replay(m)
		}
		if err != nil {
			return nil, fmt.Errorf("parse image, line %d: %w", number, err)
		}
	}
	return d.Apply(p), nil
}

// ParseRecord reads one line of the debug form: the record's name, its
// version, which may be left out, and its fields as JSON. A field that is left
// out has its default.
func ParseRecord(line string) (record.Message, error) {
	name, rest, _ := strings.Cut(line, " ")
	m := record.New(name)
	if m == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownRecord, name)
	}
	if rest, found := strings.CutPrefix(rest, "v"); found {
		_, body, _ := strings.Cut(rest, " ")
		return m, decodeFields(body, m)
	}
	return m, decodeFields(rest, m)
}

func decodeFields(body string, m record.Message) error {
	if body == "" {
		return nil
	}
	fields := json.NewDecoder(bytes.NewReader([]byte(body)))
	fields.DisallowUnknownFields()
	if err := fields.Decode(m); err != nil {
		return fmt.Errorf("fields of %s: %w", m.Type().RecordName(), err)
	}
	return nil
}
