// Package kafka holds Kafka's own words as Go types, so that an offset cannot
// be passed where an epoch is meant. It knows nothing else.
package kafka

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Offset is the position of a record in a log. Valid offsets are >= 0;
// UnknownOffset (-1) means "none" or "not known yet", as in Kafka.
type Offset int64

// UnknownOffset stands for an offset that does not exist or is not known.
const UnknownOffset Offset = -1

// Epoch is a leader epoch of a log. Valid epochs are >= 0.
type Epoch int32

// UnknownEpoch stands for an epoch that is not known.
const UnknownEpoch Epoch = -1

// NodeID is the node.id of a broker or a controller. Valid ids are >= 0.
type NodeID int32

// NoNode stands for "no broker": a partition without a leader, a replica id
// of a client that is not a replica.
const NoNode NodeID = -1

// UUID is Kafka's 128-bit id (org.apache.kafka.common.Uuid), big-endian, the
// most significant half first.
type UUID [16]byte

// TopicID identifies a topic for as long as it lives; a topic that is created
// again under the same name has another one.
type TopicID = UUID

// MetadataTopic is the name of the KRaft log.
const MetadataTopic = "__cluster_metadata"

// OffsetsTopic is the name of the group coordinator's log.
const OffsetsTopic = "__consumer_offsets"

// MetadataTopicID is the fixed id of the KRaft log (Uuid.METADATA_TOPIC_ID).
var MetadataTopicID = UUID{15: 1}

// Directory ids that Kafka reserves (org.apache.kafka.common.DirectoryId).
var (
	// DirUnassigned: the broker has not said yet where the replica lives.
	DirUnassigned = UUID{15: 1}
	// DirLost: the directory of the replica is offline or gone.
	DirLost = UUID{15: 2}
	// DirMigrating: the replica's directory was never recorded.
	DirMigrating = UUID{}
)

// NewUUID builds an id from Java's two longs.
func NewUUID(msb, lsb uint64) (u UUID) {
	binary.BigEndian.PutUint64(u[:8], msb)
	binary.BigEndian.PutUint64(u[8:], lsb)
	return u
}

// Halves returns the id as Java's two longs.
func (u UUID) Halves() (msb, lsb uint64) {
	return binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
}

// IsZero says whether the id is Uuid.ZERO_UUID.
func (u UUID) IsZero() bool { return u == UUID{} }

// String is the URL-safe base64 form without padding (22 characters) that
// Kafka's tools print.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// AppendText implements encoding.TextAppender.
func (u UUID) AppendText(b []byte) ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(b, u[:]), nil
}

// MarshalText implements encoding.TextMarshaler, so that an id is a JSON string.
func (u UUID) MarshalText() ([]byte, error) { return u.AppendText(nil) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *UUID) UnmarshalText(text []byte) error {
	parsed, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}

// ParseUUID reads the form that String writes.
func ParseUUID(s string) (u UUID, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	// The decoder passes over line breaks: the length rules them out.
	if err != nil || len(raw) != len(u) || len(s) != base64.RawURLEncoding.EncodedLen(len(u)) {
		return u, fmt.Errorf("parse uuid %s: want 22 characters of URL-safe base64", strconv.Quote(s))
	}
	copy(u[:], raw)
	return u, nil
}
