package dump

import (
	"errors"

	groups "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	shares "github.com/kraftside/kraftside/internal/sharerecord"
	transactions "github.com/kraftside/kraftside/internal/transactionrecord"
	"github.com/kraftside/kraftside/internal/wire"
	metadata "github.com/kraftside/kraftside/metadatalog/record"
)

// entry is one record as it is printed. Its slices are valid until the next
// one is decoded.
type entry struct {
	batch     *recordbatch.Header
	offset    kafka.Offset
	timestamp int64
	control   bool
	// name is Kafka's name of the type, "" if it could not be told, and number
	// the type; version is that of the value, -1 if there is none.
	name    string
	number  int16
	version int16
	// key and data are JSON. A log without keys has a nil key; a tombstone has
	// nil data.
	key, data []byte
	// err says why the record could not be decoded, or not wholly. Then raw
	// is the value, and rawKey the key unless that was decoded; withheld says
	// that they must not be shown.
	err         error
	rawKey, raw []byte
	withheld    bool
}

// decoder decodes the records of one log. The zero value, but for its log, is
// ready and hides secrets.
type decoder struct {
	log     logfile.Log
	secrets wire.Secrets

	metadata     metadata.Decoder
	groups       groups.Decoder
	transactions transactions.Decoder
	shares       shares.Decoder
	subscription groups.ConsumerProtocolSubscription
	assignment   groups.ConsumerProtocolAssignment
	keyText      []byte
	dataText     []byte
}

// decode makes an entry of a record of batch b.
func (d *decoder) decode(b *recordbatch.Header, r *recordbatch.Record, e *entry) {
	*e = entry{batch: b, offset: r.Offset, timestamp: r.Timestamp, control: b.IsControl(), version: -1}
	switch {
	case e.control:
		d.decodeControl(r, e)
	case d.log == logfile.Metadata:
		d.decodeMetadata(r, e)
	case d.log == logfile.Offsets:
		decodeKeyed(d, d.groups.Key, d.groups.Value, r, e)
	case d.log == logfile.Transactions:
		decodeKeyed(d, d.transactions.Key, d.transactions.Value, r, e)
	case d.log == logfile.Shares:
		decodeKeyed(d, d.shares.Key, d.shares.Value, r, e)
	}
}

// controlNames are the names of Kafka's ControlRecordType.
var controlNames = map[recordbatch.ControlType]string{
	recordbatch.AbortMarker:    "ABORT",
	recordbatch.CommitMarker:   "COMMIT",
	recordbatch.LeaderChange:   "LEADER_CHANGE",
	recordbatch.SnapshotHeader: "SNAPSHOT_HEADER",
	recordbatch.SnapshotFooter: "SNAPSHOT_FOOTER",
	recordbatch.KRaftVersion:   "KRAFT_VERSION",
	recordbatch.KRaftVoters:    "KRAFT_VOTERS",
}

func (d *decoder) decodeControl(r *recordbatch.Record, e *entry) {
	kind, err := recordbatch.ParseControlKey(r.Key)
	if err != nil {
		e.fail(err, r)
		return
	}
	e.number, e.name = int16(kind), controlNames[kind]
	c, version, err := metadata.DecodeControl(int16(kind), r.Value)
	if err != nil {
		e.fail(err, r)
		return
	}
	e.version = version
	d.dataText = c.AppendJSON(d.dataText[:0], version)
	e.data = d.dataText
}

func (d *decoder) decodeMetadata(r *recordbatch.Record, e *entry) {
	m, version, err := d.metadata.Decode(r.Value)
	if err != nil {
		e.fail(err, r)
		e.rawKey = nil // the log has no keys
		var at *metadata.DecodeError
		if errors.As(err, &at) && at.Type.Known() {
			e.name = at.Type.String()
		}
		e.withheld = d.secrets == wire.HideSecrets && mayHoldSecrets(at)
		return
	}
	e.name, e.number, e.version = m.Type().String(), int16(m.Type()), version
	if d.secrets == wire.ShowSecrets {
		d.dataText = m.AppendJSON(d.dataText[:0], version, wire.ShowSecrets)
	} else {
		d.dataText = metadata.AppendJSONRedacted(d.dataText[:0], m, version)
	}
	e.data = d.dataText
}

// mayHoldSecrets says whether the bytes of a record of the metadata log that
// could not be decoded may hold a secret: its type cannot be told (nil), or is
// not known, or is one of those that carry credentials or configurations.
func mayHoldSecrets(at *metadata.DecodeError) bool {
	if at == nil || !at.Type.Known() {
		return true
	}
	switch at.Type {
	case metadata.TypeUserScramCredentialRecord, metadata.TypeConfigRecord, metadata.TypeDelegationTokenRecord:
		return true
	}
	return false
}

// recordType is the type of a coordinator's record.
type recordType interface {
	~int16
	String() string
}

// decodeKeyed decodes a record of a coordinator's log. The packages of the
// three coordinators have the same shape and types of their own.
func decodeKeyed[T recordType, K interface {
	Type() T
	AppendJSON([]byte) []byte
}, V interface {
	AppendJSON([]byte, int16) []byte
}](d *decoder, decodeKey func([]byte) (K, error), decodeValue func(T, []byte) (V, int16, error), r *recordbatch.Record, e *entry) {
	key, err := decodeKey(r.Key)
	if err != nil {
		e.fail(err, r)
		return
	}
	e.name, e.number = key.Type().String(), int16(key.Type())
	d.keyText = key.AppendJSON(d.keyText[:0])
	e.key = d.keyText
	if r.Value == nil {
		return
	}
	value, version, err := decodeValue(key.Type(), r.Value)
	if err != nil {
		e.fail(err, r)
		e.rawKey = nil
		return
	}
	e.version = version
	if classic, ok := any(value).(*groups.GroupMetadataValue); ok {
		d.dataText = d.appendClassic(d.dataText[:0], classic, version)
	} else {
		d.dataText = value.AppendJSON(d.dataText[:0], version)
	}
	e.data = d.dataText
}

// fail notes why the record cannot be decoded.
func (e *entry) fail(err error, r *recordbatch.Record) {
	e.err, e.rawKey, e.raw = err, r.Key, r.Value
}

// unknown says whether the record is only too new to be decoded, as opposed to
// damaged.
func (e *entry) unknown() bool {
	for _, known := range []error{
		metadata.ErrUnknownType, metadata.ErrUnknownVersion, groups.ErrUnknownType, groups.ErrUnknownVersion,
		transactions.ErrUnknownType, transactions.ErrUnknownVersion, shares.ErrUnknownType, shares.ErrUnknownVersion,
	} {
		if errors.Is(e.err, known) {
			return true
		}
	}
	return false
}
