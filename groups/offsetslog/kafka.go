package offsetslog

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// KafkaConfig is what a Kafka source needs to know.
type KafkaConfig struct {
	// Client is a client of the cluster's brokers, with kgo.RequestRetries(0):
	// when to ask again is the source's business. It may be shared.
	Client *kgo.Client
	// ClusterID is the cluster that is expected; empty takes any.
	ClusterID string
	// Follow chooses partitions by their replicas, on Run's goroutine. nil
	// follows all of them.
	Follow func(partition int32, replicas []kafka.NodeID) bool
	// BytesPerSecond bounds how fast partitions are read that have much to
	// read, all together; 0 is DefaultBytesPerSecond, < 0 no bound.
	BytesPerSecond int
	// DeleteRetention is the topic's delete.retention.ms as last known; it is
	// called on Run's goroutine. nil, or a result <= 0, is not known.
	DeleteRetention func() time.Duration
	// Jitter spreads retries; it returns numbers in [0, 1). nil is random.
	Jitter func() float64
}

const (
	// tailInterval is the least time between two fetches from a broker, unless
	// one brought something and left more.
	tailInterval = 100 * time.Millisecond
	// maxWait is how long a broker may hold back an answer that is empty.
	maxWait = 500 * time.Millisecond
	// answerTimeout is how much longer than that an answer may take.
	answerTimeout = 10 * time.Second
)

// Kafka reads partitions from their leaders, by Fetch as a consumer sends it
// (replica id -1, READ_UNCOMMITTED), but without a group or a session.
//
// Toward one broker it is slow by construction: one request at a time, at most
// ten in a second, and ever fewer while they fail. Only fetches that bring
// something and leave more are followed at once, within the limit of bytes.
type Kafka struct {
	reader
	config     KafkaConfig
	partitions map[int32]*kafkaPartition
	brokers    map[kafka.NodeID]*broker
	metadata   metadata
	turn       int

	// answers carries what to do with an answer to the goroutine of Run, the
	// only one that touches the fields above.
	answers  chan func() error
	inFlight int
	refresh  chan struct{}
}

// kafkaPartition is a partition and its leader.
type kafkaPartition struct {
	partition
	leader      kafka.NodeID
	leaderEpoch kafka.Epoch
	// behind says that the last answer left records below the high watermark.
	behind bool
	// first says that an answer was empty although it should not be; the
	// partition must be the first in the next request, whose first partition
	// gets at least one batch. maxBytes is how much it may be.
	first    bool
	maxBytes int32
	turn     int // of the last fetch; the smallest is served first
}

// broker is a leader as it is talked to.
type broker struct {
	id        kafka.NodeID
	asking    bool
	sent      time.Time
	notBefore time.Time
	failures  int
}

// NewKafka returns a source. It sends nothing.
func NewKafka(c KafkaConfig) *Kafka {
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	return &Kafka{
		reader:     reader{deleteRetention: c.DeleteRetention, budget: newBudget(c.BytesPerSecond)},
		config:     c,
		partitions: make(map[int32]*kafkaPartition),
		brokers:    make(map[kafka.NodeID]*broker),
		answers:    make(chan func() error),
		refresh:    make(chan struct{}, 1),
	}
}

// Refresh makes the source look soon at who leads and who has replicas, as
// when an image shows that the partitions of __consumer_offsets changed. It may
// be called from any goroutine.
func (k *Kafka) Refresh() {
	select {
	case k.refresh <- struct{}{}:
	default: // it is due already
	}
}

// Run reads until ctx ends or the sink fails. It is called once.
func (k *Kafka) Run(ctx context.Context, sink Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer k.drain()
	defer cancel()
	k.sink = sink
	for {
		next, err := k.send(ctx)
		if err != nil {
			return err
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case act := <-k.answers:
			k.inFlight--
			if err = ctx.Err(); err == nil {
				err = act()
			}
		case <-k.refresh:
			k.metadata.hurry()
		case <-timer.C:
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// drain waits for the goroutines that have requests in flight.
func (k *Kafka) drain() {
	for ; k.inFlight > 0; k.inFlight-- {
		<-k.answers
	}
}

// ask sends a request on a goroutine of its own. What it returns is done on
// that of Run.
func (k *Kafka) ask(ctx context.Context, timeout time.Duration, request func(context.Context) func() error) {
	k.inFlight++
	go func() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		k.answers <- request(ctx)
	}()
}

// send sends all requests that are due, and returns when the next ones are.
func (k *Kafka) send(ctx context.Context) (next time.Time, err error) {
	now := time.Now()
	next = k.sendMetadata(ctx, now)
	for _, b := range k.sortedBrokers() {
		if b.asking {
			continue
		}
		if b.notBefore.After(now) {
			next = earlier(next, b.notBefore)
			continue
		}
		due := k.sendTo(ctx, b, now)
		next = earlier(next, due)
	}
	return next, ctx.Err()
}

func (k *Kafka) sortedBrokers() []*broker {
	return slices.SortedFunc(maps.Values(k.brokers), func(a, b *broker) int { return cmp.Compare(a.id, b.id) })
}

// sendTo sends a broker what is due, or returns when something will be.
func (k *Kafka) sendTo(ctx context.Context, b *broker, now time.Time) (due time.Time) {
	due = now.Add(time.Hour)
	var ready []*kafkaPartition
	starting := false
	for _, p := range k.partitions {
		if p.leader != b.id {
			continue
		}
		if p.notBefore.After(now) {
			due = earlier(due, p.notBefore)
			continue
		}
		ready = append(ready, p)
		starting = starting || p.startDue
	}
	switch {
	case starting:
		k.list(ctx, b, slices.DeleteFunc(ready, func(p *kafkaPartition) bool { return !p.startDue }))
	case len(ready) > 0:
		return earlier(due, k.fetch(ctx, b, ready, due, now))
	}
	return due
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// asked notes that a request is under way.
func (b *broker) asked() { b.asking, b.sent = true, time.Now() }

// answered notes that it was answered, and when the next may go. An error is
// that of all partitions it was about.
func (k *Kafka) answered(b *broker, resp kmsg.ThrottleResponse, err error, partitions []*kafkaPartition) error {
	b.asking = false
	b.notBefore = b.sent.Add(tailInterval)
	if err == nil {
		b.failures = 0
		throttle, _ := resp.Throttle()
		b.notBefore = later(b.notBefore, time.Now().Add(time.Duration(throttle)*time.Millisecond))
		return nil
	}
	b.failures++
	b.notBefore = later(b.notBefore, time.Now().Add(backoff(b.failures, k.config.Jitter)))
	k.metadata.hurry() // the leader may be another by now
	for _, p := range partitions {
		if !k.leads(b, p) {
			continue
		}
		p.at.Problem = problemOf(b.id, err).after(p.at.Problem)
		if err := k.report(&p.partition); err != nil {
			return err
		}
	}
	return nil
}

// leads says whether what a broker answers about a partition counts: it is
// still followed, and the broker still its leader.
func (k *Kafka) leads(b *broker, p *kafkaPartition) bool {
	return k.partitions[p.id] == p && p.leader == b.id
}

// refused acts on an error code of a partition.
func (k *Kafka) refused(p *kafkaPartition, node kafka.NodeID, err error) error {
	problem := problemOf(node, err)
	if problem.Kind == NoLeader {
		k.metadata.hurry()
	}
	p.fail(problem, k.config.Jitter)
	return k.report(&p.partition)
}

var (
	errNoAnswer = errors.New("the answer leaves the partition out")
	errNoBatch  = errors.New("no answer holds a whole batch, however large it may be")
)
