package image

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/metadatalog/record"
)

// PartKey names one thing of the image that is no topic: a broker, a feature
// level, one configured key. Keys sort by kind. A store keeps one record under
// each, so that a change costs one row.
type PartKey string

// The first byte of a PartKey.
const (
	featurePart    = 'f'
	brokerPart     = 'b'
	controllerPart = 'c'
	configPart     = 'g'
	quotaPart      = 'q'
	producerPart   = 'p'
	aclPart        = 'a'
	scramPart      = 's'
	tokenPart      = 't'
)

// PartOf is the key of what a record creates, as Write emits it, or removes;
// false for records of topics and those that leave no trace.
func PartOf(m record.Message) (PartKey, bool) {
	switch r := m.(type) {
	case *record.FeatureLevelRecord:
		return partKey(featurePart, r.Name), true
	case *record.RegisterBrokerRecord:
		return nodeKey(brokerPart, r.BrokerID), true
	case *record.UnregisterBrokerRecord:
		return nodeKey(brokerPart, r.BrokerID), true
	case *record.BrokerRegistrationChangeRecord:
		return nodeKey(brokerPart, r.BrokerID), true
	case *record.FenceBrokerRecord:
		return nodeKey(brokerPart, r.ID), true
	case *record.UnfenceBrokerRecord:
		return nodeKey(brokerPart, r.ID), true
	case *record.RegisterControllerRecord:
		return nodeKey(controllerPart, r.ControllerID), true
	case *record.UnregisterControllerRecord:
		return nodeKey(controllerPart, r.ControllerID), true
	case *record.ConfigRecord:
		return partKey(configPart, string([]byte{byte(r.ResourceType)}), r.ResourceName, r.Name), true
	case *record.ProducerIdsRecord:
		return partKey(producerPart), true
	}
	return securityPartOf(m)
}

func securityPartOf(m record.Message) (PartKey, bool) {
	switch r := m.(type) {
	case *record.ClientQuotaRecord:
		return quotaRecordKey(r), true
	case *record.AccessControlEntryRecord:
		return partKey(aclPart, string(r.ID[:])), true
	case *record.RemoveAccessControlEntryRecord:
		return partKey(aclPart, string(r.ID[:])), true
	case *record.UserScramCredentialRecord:
		return partKey(scramPart, string([]byte{byte(r.Mechanism)}), r.Name), true
	case *record.RemoveUserScramCredentialRecord:
		return partKey(scramPart, string([]byte{byte(r.Mechanism)}), r.Name), true
	case *record.DelegationTokenRecord:
		return partKey(tokenPart, r.TokenID), true
	case *record.RemoveDelegationTokenRecord:
		return partKey(tokenPart, r.TokenID), true
	}
	return "", false
}

// Config is the configured key that a PartKey names, without its value; false
// if it names something else.
func (k PartKey) Config() (Config, bool) {
	if k == "" || k[0] != configPart {
		return Config{}, false
	}
	var fields [3]string
	rest := string(k[1:])
	for i := range fields {
		n, size := binary.Uvarint([]byte(rest))
		if size <= 0 || n > uint64(len(rest)-size) {
			return Config{}, false
		}
		fields[i], rest = rest[size:size+int(n)], rest[size+int(n):]
	}
	if len(fields[0]) != 1 || rest != "" {
		return Config{}, false
	}
	return Config{ConfigResource: ConfigResource{Type: int8(fields[0][0]), Name: fields[1]}, Key: fields[2]}, true
}

func partKey(kind byte, fields ...string) PartKey {
	b := []byte{kind}
	for _, f := range fields {
		b = binary.AppendUvarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	return PartKey(b)
}

func nodeKey(kind byte, id int32) PartKey {
	return PartKey(binary.BigEndian.AppendUint32([]byte{kind}, uint32(id)))
}

// quotaRecordKey does not depend on the order in which the record names the
// parts of the entity.
func quotaRecordKey(r *record.ClientQuotaRecord) PartKey {
	entity := slices.Clone(r.Entity)
	slices.SortStableFunc(entity, func(a, b record.EntityData) int { return strings.Compare(a.EntityType, b.EntityType) })
	fields := []string{r.Key}
	for _, e := range entity {
		if e.EntityName == nil {
			fields = append(fields, e.EntityType, "")
			continue
		}
		fields = append(fields, e.EntityType, "="+*e.EntityName)
	}
	return partKey(quotaPart, fields...)
}
