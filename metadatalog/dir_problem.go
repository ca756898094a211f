package metadatalog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// errNoLog means that a directory holds no metadata log.
var errNoLog = errors.New("no metadata log is there")

// wrongCluster means that something is another cluster's.
type wrongCluster struct{ belongs, has, want string }

func (e wrongCluster) Error() string {
	return fmt.Sprintf("%s to cluster %s, not to %s", e.belongs, e.has, e.want)
}

// classifyDir says what kind of problem an error with the directory is.
func classifyDir(err error) (ProblemKind, string) {
	var other wrongCluster
	switch {
	case errors.As(err, &other):
		return WrongCluster, "give the metadata log directory of this cluster, or its cluster id"
	case errors.Is(err, fs.ErrPermission):
		return NotAuthorized, "run as the user that Kafka runs as, or read from the quorum"
	case errors.Is(err, ErrIncompleteSnapshot), errors.Is(err, errGap):
		return SnapshotFailed, "the next snapshot that the broker takes will do; until then read from the quorum"
	case errors.Is(err, recordbatch.ErrCorrupt), errors.Is(err, recordbatch.ErrPartial), errors.Is(err, recordbatch.ErrTooLarge):
		return Corrupt, "check the disk of the broker, or read from the quorum"
	case errors.Is(err, logdir.ErrFormat):
		return Corrupt, "check the file"
	case errors.Is(err, errNoLog), errors.Is(err, fs.ErrNotExist):
		return Unreadable, "check the path; a broker's is metadata.log.dir, or the first of log.dirs"
	}
	return Unreadable, "check the disk and the mount"
}

// classifyBound says what kind of problem an error of a Bound is.
func classifyBound(err error) (ProblemKind, string) {
	var other wrongCluster
	var code *kerr.Error
	switch {
	case errors.As(err, &other):
		return WrongCluster, "give the brokers of the cluster whose log directory it is"
	case errors.Is(err, errNoHighWatermark):
		return NoLeader, "the quorum is electing; if it lasts, a majority of the controllers is down or apart"
	case errors.Is(err, errNothingApplied), errors.Is(err, errNotFollowing):
		return BadAnswer, "it may be starting; if it lasts, check the log of the broker beside us"
	case !errors.As(err, &code):
		return Unreachable, "check that the broker beside us is up and reachable from here"
	case code.Code == kerr.ClusterAuthorizationFailed.Code:
		return NotAuthorized, "grant the principal DESCRIBE on the cluster"
	}
	if kind, advice := classify(err); kind == NotAuthorized {
		return kind, advice
	}
	return BadAnswer, "if it lasts, check the log of the broker beside us"
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
