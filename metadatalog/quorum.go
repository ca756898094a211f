package metadatalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/kafka"
)

// DialFunc makes a connection, as net.Dialer.DialContext and
// tls.Dialer.DialContext do.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// QuorumConfig is what a Quorum needs to know.
type QuorumConfig struct {
	// Controllers are where to find the quorum, as [ID@]HOST:PORT of the
	// controllers' listeners; one that is up is enough. With an ID, the
	// address is used for that controller in place of the one it advertises.
	Controllers []string
	// ClusterID is the cluster that is expected; empty takes any.
	ClusterID string
	// Dir is where a snapshot is kept while it is downloaded, by the name of
	// NAME.part. An interrupted download goes on from there, in the next
	// process too. It is made when it is needed.
	Dir string
	// Dial makes connections, TLS included; nil is plain TCP.
	Dial DialFunc
	// Client are options of the kgo client: SASL and names. Seeds, dialers,
	// retries and timeouts are the source's own.
	Client []kgo.Opt
	// Jitter spreads retries; it returns numbers in [0, 1). nil is random.
	Jitter func() float64
}

// rereadInterval is how often the log or a snapshot may be read anew at full
// speed, because it turned out to be another one.
const rereadInterval = time.Hour

// Quorum is an observer of a live quorum: it fetches from the active
// controller as a broker does, but with the replica id -1, so that it takes
// part in nothing and shows nowhere.
//
// It is gentle by construction: whatever controllers answer, in any 5 s they
// see at most 10 requests and 5 connections. Only answers that take it further
// than it ever was are followed at once and do not count.
type Quorum struct {
	config QuorumConfig
	view   *view
	pace   *pace
	dials  *dialLimit

	controllers map[string]*controller // by address
	tail        tail
	fetchBytes  int32
	download    *download
	// lostAt is the position at which the last download was lost, or -1: see
	// snapshotLost.
	lostAt int64
	// downloaded names the last snapshot that a download was begun of.
	downloaded download
	reached    mark
	rereadAt   time.Time
	progress   Progress
	sink       Sink
}

// NewQuorum checks the configuration. It makes no connection.
func NewQuorum(c QuorumConfig) (*Quorum, error) {
	v, err := newView(c.Controllers)
	if err != nil {
		return nil, err
	}
	if c.Dir == "" {
		return nil, errors.New("quorum source: no directory for snapshots given")
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	// A client connects when it is asked something, so this only checks the
	// options.
	probe, err := newController(v.bootstrap[0].address, c.Dial, nil, c.Client)
	if err != nil {
		return nil, err
	}
	probe.close()
	return &Quorum{
		config: c, view: v, pace: newPace(c.Jitter),
		dials:       &dialLimit{window: window{n: maxConnections}},
		controllers: map[string]*controller{},
		fetchBytes:  minFetchBytes,
		lostAt:      -1,
	}, nil
}

// Run reads the log from start on, which is the zero Position or one that was
// delivered before, until ctx ends or the sink fails. It is called once.
func (q *Quorum) Run(ctx context.Context, start Position, sink Sink) error {
	defer q.close()
	q.sink = sink
	q.tail.restart(start)
	for {
		target := q.target()
		if err := q.pace.wait(ctx); err != nil {
			return err
		}
		v, err := q.ask(ctx, target)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		q.settle(target, v)
		if err := sink.Progress(q.report(target)); err != nil {
			return err
		}
	}
}

// target is whom to ask next. A candidate that needs a connection is passed
// over while none may be made, if there are others.
func (q *Quorum) target() endpoint {
	for {
		t := q.view.target()
		c := q.controllers[t.address]
		if c != nil && c.answers || !q.dials.spent() || q.view.last() {
			return t
		}
		q.view.pass()
	}
}

// settle acts on a verdict: whom to ask next, and when.
func (q *Quorum) settle(target endpoint, v verdict) {
	free, pause := q.reached.advance(q.mark()), false
	switch v {
	case again, caughtUp:
		if free || v == caughtUp {
			q.progress.Problem = nil
		}
		q.progress.Address = target.address
		q.view.answered(target)
		q.keepOnly(target.address)
	case stuck:
		q.view.stay()
	case elsewhere:
		pause = q.view.pass()
	}
	q.pace.settle(v, free, pause)
}

// mark is how far reading is.
func (q *Quorum) mark() mark {
	if d := q.download; d != nil {
		return mark{d.id.EndOffset, d.position}
	}
	return mark{offset: q.tail.end().Offset}
}

// ask sends the one request that is due. Its error is the sink's.
func (q *Quorum) ask(ctx context.Context, target endpoint) (verdict, error) {
	c, err := q.controller(target.address)
	if err != nil {
		return q.problem(target, BadAnswer, err, "give the controller another address as ID@HOST:PORT"), nil
	}
	if q.download != nil && target.address == q.view.leaderAt {
		return q.fetchSnapshot(ctx, c, target)
	}
	return q.fetch(ctx, c, target)
}

func (q *Quorum) controller(address string) (*controller, error) {
	if c := q.controllers[address]; c != nil {
		return c, nil
	}
	c, err := newController(address, q.config.Dial, q.dials, q.config.Client)
	if err == nil {
		q.controllers[address] = c
	}
	return c, err
}

// keepOnly closes the connections to others, which have nothing to say while
// the leader answers.
func (q *Quorum) keepOnly(address string) {
	for a, c := range q.controllers {
		if a != address {
			c.close()
			delete(q.controllers, a)
		}
	}
}

func (q *Quorum) close() {
	q.keepOnly("")
	q.closeDownload()
}

// report is the progress as it stands.
func (q *Quorum) report(target endpoint) Progress {
	p := &q.progress
	p.Leader, p.LeaderEpoch = q.view.leader, q.view.epoch
	p.HighWatermark, p.Delivered, p.EndOffset = q.tail.highWatermark, q.tail.delivered, q.tail.end().Offset
	p.Snapshot = nil
	if d := q.download; d != nil {
		p.Snapshot = &SnapshotProgress{ID: d.id, Position: d.position, Size: d.size}
	}
	return *p
}

// problem notes what is wrong with target. It returns the verdict for a
// controller that is no use asking; callers that know better return theirs.
func (q *Quorum) problem(target endpoint, kind ProblemKind, err error, advice string) verdict {
	p := &Problem{Kind: kind, Node: q.view.node(target), Address: target.address, Err: err, Advice: advice, Since: time.Now(), Attempts: 1}
	old := q.progress.Problem
	switch {
	case old == nil:
	case old.Address == p.Address && old.Kind == p.Kind:
		p.Since, p.Attempts = old.Since, old.Attempts+1
	case old.Address != p.Address && (old.Kind == p.Kind && p.Address != q.view.leaderAt || q.outranks(old, p)):
		// One candidate's failure stands for those of the others.
		return elsewhere
	}
	q.progress.Problem = p
	return elsewhere
}

// outranks says whether a problem is to be told rather than another: one with
// the leader rather than with a controller that was asked about the leader,
// and among those one that somebody must act on.
func (q *Quorum) outranks(old, p *Problem) bool {
	rank := func(p *Problem) int {
		switch {
		case p.Address == q.view.leaderAt:
			return 3
		case p.Kind == NoLeader:
			return 1
		case p.Kind == Unreachable:
			return 0
		}
		return 2
	}
	return rank(old) > rank(p)
}

// reset tells the sink that what it has is not in the log.
func (q *Quorum) reset(target endpoint, reason error) (verdict, error) {
	q.problem(target, Diverged, reason, "the log is read anew; if the controllers lost data, compare their logs")
	q.tail.restart(Position{})
	q.dropDownload()
	q.reread()
	return stuck, q.sink.Reset(reason)
}

// reread makes reading the same anew count as progress, so that it goes at full
// speed; but not over and over.
func (q *Quorum) reread() {
	if now := time.Now(); now.Sub(q.rereadAt) > rereadInterval {
		q.reached, q.rereadAt = mark{}, now
	}
}

// clusterID is the cluster id as requests carry it.
func (q *Quorum) clusterID() *string {
	if q.config.ClusterID == "" {
		return nil
	}
	return &q.config.ClusterID
}

// newLeader notes a leader that was not known, which makes earlier problems void.
func (q *Quorum) newLeader() verdict {
	q.progress.Problem = nil
	return onward
}

func nodeID(id int32) kafka.NodeID {
	if id < 0 {
		return kafka.NoNode
	}
	return kafka.NodeID(id)
}

func hostPort(host string, port int32) string {
	if host == "" || port <= 0 {
		return ""
	}
	return net.JoinHostPort(host, fmt.Sprint(port))
}
