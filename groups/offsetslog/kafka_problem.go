package offsetslog

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// problemOf says what kind of problem an error of a request is, and what to
// do. The advice is about what a person can change.
func problemOf(node kafka.NodeID, err error) *Problem {
	kind, advice := classify(err)
	return &Problem{Kind: kind, Node: node, Err: plain(err), Advice: advice}
}

// codeError is an error code without Kafka's description of it: what it means
// here the advice says.
type codeError struct{ code *kerr.Error }

func (e codeError) Error() string { return e.code.Message }

func (e codeError) Unwrap() error { return e.code }

// plain makes an error that is nothing but a code short.
func plain(err error) error {
	if code, ok := err.(*kerr.Error); ok {
		return codeError{code}
	}
	return err
}

func classify(err error) (ProblemKind, string) {
	var code *kerr.Error
	switch {
	case errors.Is(err, errWrongCluster):
		return WrongCluster, "give the brokers of this cluster"
	case errors.Is(err, recordbatch.ErrCorrupt), errors.Is(err, recordbatch.ErrTooLarge):
		return Corrupt, "if it lasts, check the disk of the leader"
	case errors.Is(err, errNoAnswer), errors.Is(err, errNoBatch):
		return BadAnswer, "if it lasts, check the broker's log"
	case !errors.As(err, &code):
		return Unreachable, "check that it is up and reachable, and that TLS and SASL are set as its listener wants them"
	}
	switch code {
	case kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed:
		return NotAuthorized, "grant the principal DESCRIBE and READ on topic " + kafka.OffsetsTopic
	case kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState:
		return NotAuthorized, "check the SASL mechanism, user and password"
	case kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.LeaderNotAvailable,
		kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.ReplicaNotAvailable,
		kerr.OffsetNotAvailable, kerr.BrokerNotAvailable:
		return NoLeader, "" // an election, or news of one that has not reached everybody
	case kerr.KafkaStorageError:
		return NoLeader, "check the disk of the broker"
	}
	return BadAnswer, "if it lasts, check the broker's log"
}
