package image

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/wire"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// String is the debug form of the image: its provenance, then one record a
// line, as AppendText writes it without secrets.
func (m *MetadataImage) String() string { return string(m.AppendText(nil, wire.HideSecrets)) }

// AppendText adds the debug form of the image to b, which delta.Parse reads:
//
//	offset 42, epoch 3, appended 1700000000000
//	TopicRecord v0 {"name":"orders","topicId":"VKIYxBdkSg6b6atw_nVOjg"}
func (m *MetadataImage) AppendText(b []byte, secrets wire.Secrets) []byte {
	b = fmt.Appendf(b, "%s, appended %d\n", m.provenance, m.provenance.AppendTime)
	// The error is that of emit, which has none.
	_ = m.Write(func(r record.Message, version int16) error {
		b = AppendRecordText(b, r, version, secrets)
		return nil
	})
	return b
}

// AppendRecordText adds one line of the debug form.
func AppendRecordText(b []byte, r record.Message, version int16, secrets wire.Secrets) []byte {
	b = fmt.Appendf(b, "%s v%d ", r.Type().RecordName(), version)
	if secrets == wire.HideSecrets {
		return append(record.AppendJSONRedacted(b, r, version), '\n')
	}
	return append(r.AppendJSON(b, version, secrets), '\n')
}
