package recordbatch

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/wire"
)

// ControlType says what a record of a control batch is (Kafka's
// ControlRecordType). Types that are not named here may occur and are to be
// passed over.
type ControlType int16

// The control records of Kafka 4.0 to 4.4.
const (
	AbortMarker    ControlType = 0
	CommitMarker   ControlType = 1
	LeaderChange   ControlType = 2
	SnapshotHeader ControlType = 3
	SnapshotFooter ControlType = 4
	KRaftVersion   ControlType = 5
	KRaftVoters    ControlType = 6
)

// ParseControlKey reads the key of a control record: an int16 version and an
// int16 type. Later versions may add fields, which are ignored, as Kafka does.
func ParseControlKey(key []byte) (ControlType, error) {
	r := wire.NewReader(key)
	version, kind := r.Int16(), r.Int16()
	if err := r.Err(); err != nil {
		return 0, fmt.Errorf("%w: control record key: %w", ErrCorrupt, err)
	}
	if version < 0 {
		return 0, fmt.Errorf("%w: control record key version %d", ErrCorrupt, version)
	}
	return ControlType(kind), nil
}
