package dump

import (
	"bytes"

	groups "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/wire"
)

// consumerProtocol is the protocol type whose subscriptions and assignments
// Kafka's dump tool decodes. Those of others, such as connect, are their own
// business.
const consumerProtocol = "consumer"

// appendClassic adds a classic group as Kafka's dump tool prints it: with the
// subscription and the assignment of each member as objects, unless they are
// empty or cannot be decoded.
//
// They are put into the JSON of a value without them. That JSON is ours: an
// empty field has one form in it, and no string can hold it, because a quote
// inside a string is escaped.
func (d *decoder) appendClassic(b []byte, v *groups.GroupMetadataValue, version int16) []byte {
	if v.ProtocolType != consumerProtocol {
		return v.AppendJSON(b, version)
	}
	bare := *v
	bare.Members = make([]groups.MemberMetadata, len(v.Members))
	for i, m := range v.Members {
		m.Subscription, m.Assignment = []byte{}, []byte{}
		bare.Members[i] = m
	}
	rest := bare.AppendJSON(nil, version)
	for i := range v.Members {
		m := &v.Members[i]
		b, rest = splice(b, rest, `"subscription":""`, func(b []byte) []byte { return d.appendSubscription(b, m.Subscription) })
		b, rest = splice(b, rest, `"assignment":""`, func(b []byte) []byte { return d.appendAssignment(b, m.Assignment) })
	}
	return append(b, rest...)
}

// splice adds rest up to the empty field, the field with the value that put
// adds, and returns what is left of rest.
func splice(b, rest []byte, empty string, put func([]byte) []byte) (added, left []byte) {
	before, after, found := bytes.Cut(rest, []byte(empty))
	b = append(b, before...)
	if !found {
		return b, after
	}
	b = append(b, empty[:len(empty)-len(`""`)]...)
	return put(b), after
}

func (d *decoder) appendSubscription(b, subscription []byte) []byte {
	version, err := d.subscription.Parse(subscription)
	if err != nil {
		return appendBytes(b, subscription)
	}
	return d.subscription.AppendJSON(b, version)
}

func (d *decoder) appendAssignment(b, assignment []byte) []byte {
	version, err := d.assignment.Parse(assignment)
	if err != nil {
		return appendBytes(b, assignment)
	}
	return d.assignment.AppendJSON(b, version)
}

func appendBytes(b, v []byte) []byte {
	j := wire.NewJSON(b, wire.HideSecrets)
	j.BytesValue(v)
	return j.Bytes()
}
