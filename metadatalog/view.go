package metadatalog

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
)

// endpoint is where a controller can be asked. Its id is kafka.NoNode where
// only the address is known.
type endpoint struct {
	node    kafka.NodeID
	address string // HOST:PORT
}

// parseEndpoint reads [ID@]HOST:PORT.
func parseEndpoint(s string) (endpoint, error) {
	e := endpoint{node: kafka.NoNode, address: s}
	if id, address, ok := strings.Cut(s, "@"); ok {
		n, err := strconv.ParseUint(id, 10, 31)
		if err != nil {
			return e, fmt.Errorf("controller %q: the id before @ is not a node id", s)
		}
		e = endpoint{node: kafka.NodeID(n), address: address}
	}
	host, port, err := net.SplitHostPort(e.address)
	if err != nil || host == "" {
		return e, fmt.Errorf("controller %q: want [ID@]HOST:PORT", s)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return e, fmt.Errorf("controller %q: bad port", s)
	}
	return e, nil
}

// view is what is known of the quorum: who leads, in which epoch, and where
// controllers are. It decides whom to ask next. No clock, no I/O.
//
// Candidates are asked in rounds: the leader and the bootstrap controllers, so
// that a leader that cannot be reached is looked for again, and asked again,
// for as long as the others name it.
type view struct {
	bootstrap []endpoint
	override  map[kafka.NodeID]string // from ID@HOST:PORT

	leader kafka.NodeID
	epoch  kafka.Epoch
	// leaderAt is where the leader answered, or where it is said to be; empty
	// when that is not known.
	leaderAt string

	round  []endpoint // still to be asked
	rounds int        // begun since the leader last answered
	// older: a controller was met that knows only earlier epochs than we do;
	// current: one that does not. See lost.
	older, current bool
}

func newView(controllers []string) (*view, error) {
	v := &view{override: map[kafka.NodeID]string{}, leader: kafka.NoNode}
	for _, c := range controllers {
		e, err := parseEndpoint(strings.TrimSpace(c))
		if err != nil {
			return nil, err
		}
		v.bootstrap = append(v.bootstrap, e)
		if e.node != kafka.NoNode {
			v.override[e.node] = e.address
		}
	}
	if len(v.bootstrap) == 0 {
		return nil, fmt.Errorf("no controller given: want at least one [ID@]HOST:PORT")
	}
	return v, nil
}

// target is whom to ask next.
func (v *view) target() endpoint {
	if len(v.round) == 0 {
		v.startRound()
	}
	return v.round[0]
}

// startRound lines up all candidates, each address once. The leader comes
// first; once it has failed it comes last, since then it is more likely that
// the others know a new one. The others begin with another one every time.
func (v *view) startRound() {
	var leader []endpoint
	if v.leaderAt != "" {
		leader = []endpoint{{v.leader, v.leaderAt}}
	}
	if v.rounds == 0 {
		v.round = append(v.round, leader...)
	}
	for i := range v.bootstrap {
		if e := v.bootstrap[(v.rounds+i)%len(v.bootstrap)]; e.address != v.leaderAt && !slices.Contains(v.round, e) {
			v.round = append(v.round, e)
		}
	}
	if v.rounds > 0 {
		v.round = append(v.round, leader...)
	}
	v.rounds++
	v.older, v.current = false, false
}

// last says whether target is the last candidate of the round.
func (v *view) last() bool { return len(v.round) <= 1 }

// pass goes on to the next candidate and says whether the round is over.
func (v *view) pass() bool {
	if len(v.round) > 1 {
		v.round = v.round[1:]
		return false
	}
	v.round = nil
	if v.older && !v.current {
		v.forget()
	}
	return true
}

// forget starts discovery over. It happens when all controllers that answer
// know only earlier epochs than ours, which a quorum of the same history
// cannot do for long.
func (v *view) forget() {
	v.leader, v.epoch, v.leaderAt = kafka.NoNode, 0, ""
}

// learn takes what an answer says about the leader: id may be kafka.NoNode,
// and address empty. It says whether that tells whom to ask now, which was not
// known before.
func (v *view) learn(id kafka.NodeID, epoch kafka.Epoch, address string) bool {
	if epoch < v.epoch {
		v.older = v.older || epoch >= 0
		return false
	}
	v.current = true
	if epoch > v.epoch || v.leader == kafka.NoNode {
		if epoch == v.epoch && id == kafka.NoNode {
			return false
		}
		v.leader, v.epoch, v.leaderAt = id, epoch, ""
	}
	return id != kafka.NoNode && id == v.leader && v.leaderAt == "" && v.locate(address)
}

// locate decides where the leader is to be asked, advertised being where it
// says it is.
func (v *view) locate(advertised string) bool {
	v.leaderAt = v.override[v.leader]
	if v.leaderAt == "" {
		v.leaderAt = advertised
	}
	if v.leaderAt == "" {
		return false
	}
	v.stay()
	return true
}

// answered notes that the leader answered at e, which need not be where it is
// said to be. The next round begins with it.
func (v *view) answered(e endpoint) {
	if v.leader == kafka.NoNode {
		v.leader = e.node
	}
	v.leaderAt = e.address
	v.stay()
}

// stay makes the next round begin with the leader.
func (v *view) stay() { v.round, v.rounds = nil, 0 }

// node is the id of the controller at e, as far as it is known.
func (v *view) node(e endpoint) kafka.NodeID {
	if e.node == kafka.NoNode && e.address == v.leaderAt {
		return v.leader
	}
	return e.node
}
