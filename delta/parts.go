package delta

import (
	"fmt"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// PartEdit is a change of something that is no topic, for a store: the frame
// of the record that makes it what it is now, or nil if it is gone.
type PartEdit struct {
	Key   image.PartKey
	Frame []byte
}

// PartEdits is the changes of all that is no topic, in their order. A snapshot
// has none: it stands for the whole image, which a store must write anew.
func (d *Delta) PartEdits() []PartEdit { return d.parts }

// editPart notes the change that m made.
func (d *Delta) editPart(m record.Message) error {
	key, ok := image.PartOf(m)
	if !ok || d.snapshot {
		return nil
	}
	edit := PartEdit{Key: key}
	if current := d.currentPart(m); current != nil {
		frame, err := record.AppendFrame(nil, current, current.Type().HighestVersion())
		if err != nil {
			return fmt.Errorf("write %s again: %w", current.Type().RecordName(), err)
		}
		edit.Frame = frame
	}
	d.parts = append(d.parts, edit)
	return nil
}

// currentPart is the record that says what m led to; nil if it removed
// something.
func (d *Delta) currentPart(m record.Message) record.Message {
	switch r := m.(type) {
	case *record.FeatureLevelRecord:
		if r.FeatureLevel == 0 {
			return nil
		}
	case *record.ConfigRecord:
		if r.Value == nil {
			return nil
		}
	case *record.ClientQuotaRecord:
		if r.Remove {
			return nil
		}
	case *record.BrokerRegistrationChangeRecord:
		return d.brokerRecord(r.BrokerID)
	case *record.FenceBrokerRecord:
		return d.brokerRecord(r.ID)
	case *record.UnfenceBrokerRecord:
		return d.brokerRecord(r.ID)
	case *record.UnregisterBrokerRecord, *record.UnregisterControllerRecord, *record.RemoveAccessControlEntryRecord,
		*record.RemoveUserScramCredentialRecord, *record.RemoveDelegationTokenRecord:
		return nil
	}
	return m
}
