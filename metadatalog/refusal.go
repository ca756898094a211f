package metadatalog

import (
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kraftside/kraftside/internal/kafka"
)

// errEmptyAnswer means that an answer does not hold the metadata partition.
var errEmptyAnswer = errors.New("the answer does not hold the metadata log's partition")

// codeError is an error code of an answer. Its text is the code's name without
// Kafka's description: what it means here, the advice says.
type codeError struct{ code *kerr.Error }

func (e codeError) Error() string { return e.code.Message }

func (e codeError) Unwrap() error { return e.code }

// errorForCode is nil for 0.
func errorForCode(code int16) error {
	if e := kerr.TypedErrorForCode(code); e != nil {
		return codeError{e}
	}
	return nil
}

// failed notes why target gave no answer that could be used.
func (q *Quorum) failed(target endpoint, err error) verdict {
	kind, advice := classify(err)
	if err == io.EOF {
		err = fmt.Errorf("connection closed: %w", err)
	}
	if kind == Unreachable && target.address == q.view.leaderAt {
		advice = fmt.Sprintf("it is the leader, and nothing new is read until it answers: make %s reachable from here, "+
			"or give the controller as %s@HOST:PORT with an address that is", target.address, idOf(q.view.leader))
	}
	v := q.problem(target, kind, err, advice)
	if kind == BadAnswer && target.address == q.view.leaderAt {
		return stuck
	}
	return v
}

func idOf(n kafka.NodeID) string {
	if n == kafka.NoNode {
		return "ID"
	}
	return fmt.Sprint(n)
}

// classify says what kind of problem an error of a request is.
func classify(err error) (ProblemKind, string) {
	var code *kerr.Error
	if !errors.As(err, &code) {
		if errors.Is(err, errEmptyAnswer) {
			return BadAnswer, "if it lasts, check the controller's log"
		}
		return Unreachable, "check that it is up and reachable, and that TLS and SASL are set as its listener wants them"
	}
	switch code.Code {
	case kerr.InconsistentClusterID.Code:
		return WrongCluster, "give the controllers of this cluster, or its cluster id"
	case kerr.ClusterAuthorizationFailed.Code, kerr.TopicAuthorizationFailed.Code:
		return NotAuthorized, "grant the principal CLUSTER_ACTION on the cluster"
	case kerr.SaslAuthenticationFailed.Code, kerr.UnsupportedSaslMechanism.Code, kerr.IllegalSaslState.Code:
		return NotAuthorized, "check the SASL mechanism, user and password"
	case kerr.UnknownTopicID.Code, kerr.UnsupportedVersion.Code:
		return NotController, "it answers as a broker does: give the address of a controller's listener"
	}
	return BadAnswer, "if it lasts, check the controller's log"
}

// refused acts on the error code of a partition. news says that the answer
// told whom to ask instead.
func (q *Quorum) refused(target endpoint, code int16, news bool, leader, epoch int32) (verdict, error) {
	if news {
		return q.newLeader(), nil
	}
	err := errorForCode(code)
	switch code {
	case kerr.FencedLeaderEpoch.Code, kerr.NotLeaderForPartition.Code, kerr.UnknownLeaderEpoch.Code,
		kerr.BrokerNotAvailable.Code, kerr.InvalidRequest.Code:
	default:
		return q.failed(target, err), nil
	}
	if code == kerr.InvalidRequest.Code && q.leadsBehindUs(target, nodeID(leader), kafka.Epoch(epoch)) {
		return q.reset(target, fmt.Errorf("%w: it leads in epoch %d, and %v was applied here", errDiverged, epoch, q.tail.end()))
	}
	switch {
	case q.view.leader == kafka.NoNode:
		q.problem(target, NoLeader, fmt.Errorf("no leader in epoch %d: %w", q.view.epoch, err),
			"the quorum is electing; if it lasts, a majority of the controllers is down or apart")
	case q.view.leaderAt == "":
		q.problem(target, NoLeader, fmt.Errorf("the leader is %d, and its address is not known: %w", q.view.leader, err),
			fmt.Sprintf("give the controller as %d@HOST:PORT", q.view.leader))
	case target.address == q.view.leaderAt:
		q.problem(target, NoLeader, fmt.Errorf("it is said to lead in epoch %d, and refuses: %w", q.view.epoch, err),
			"the quorum is electing; if it lasts, check the controller's log")
	}
	return elsewhere, nil
}

// leadsBehindUs says whether the leader itself refuses our epoch as being
// above its own: its history is another one, and Fetch has no other way of
// saying so.
func (q *Quorum) leadsBehindUs(target endpoint, leader kafka.NodeID, epoch kafka.Epoch) bool {
	return q.view.epoch != 0 && leader != kafka.NoNode && leader == q.view.leader && epoch == q.view.epoch &&
		target.address == q.view.leaderAt && q.tail.end().Epoch > epoch
}
