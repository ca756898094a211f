package check

import (
	"errors"

	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	shares "github.com/kraftside/kraftside/internal/sharerecord"
	transactions "github.com/kraftside/kraftside/internal/transactionrecord"
	metadatarecord "github.com/kraftside/kraftside/metadatalog/record"
)

// records decodes the records of a log that is not replayed.
type records struct {
	log          *partition
	walk         recordbatch.Decoder
	metadata     metadatarecord.Decoder
	transactions transactions.Decoder
	shares       shares.Decoder
}

// batch implements replayer.
func (d *records) batch(b *recordbatch.Batch, at place) {
	err := d.walk.Start(b)
	for r := (recordbatch.Record{}); err == nil && d.walk.Next(&r); {
		if b.IsControl() {
			continue
		}
		if wrong := d.decode(&r); wrong != nil {
			kind := Damage
			if isUnknown(wrong) {
				kind = Unchecked
			}
			d.log.report.add(at.finding(kind, r.Offset, wrong.Error()))
		}
	}
	if err == nil {
		err = d.walk.Err()
	}
	if err != nil {
		d.log.report.add(at.finding(Damage, b.BaseOffset, err.Error()))
	}
}

func (d *records) decode(r *recordbatch.Record) error {
	switch d.log.Log {
	case logfile.Metadata:
		_, _, err := d.metadata.Decode(r.Value)
		return err
	case logfile.Transactions:
		key, err := d.transactions.Key(r.Key)
		if err == nil && r.Value != nil {
			_, _, err = d.transactions.Value(key.Type(), r.Value)
		}
		return err
	}
	key, err := d.shares.Key(r.Key)
	if err == nil && r.Value != nil {
		_, _, err = d.shares.Value(key.Type(), r.Value)
	}
	return err
}

// isUnknown says whether a record is only of a later Kafka.
func isUnknown(err error) bool {
	for _, known := range []error{
		metadatarecord.ErrUnknownType, metadatarecord.ErrUnknownVersion, transactions.ErrUnknownType, transactions.ErrUnknownVersion,
		shares.ErrUnknownType, shares.ErrUnknownVersion,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// end implements replayer.
func (d *records) end() {}
