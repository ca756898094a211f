package whatif

import (
	"fmt"
	"regexp"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/topichash"
)

// Bounds on one plan. A cluster of a million partitions can be restarted once,
// broker by broker, in some of these.
const (
	maxChanges = 100
	maxRecords = 4_000_000
	// maxNewPartitions is how many partitions a controller makes in one
	// operation (MAX_PARTITIONS_PER_BATCH).
	maxNewPartitions = 10_000
)

// Plan is a list of changes as the steps in which they will happen.
type Plan struct {
	steps  []step
	images []*image.MetadataImage // images[i] is that before steps[i]; the last is the end
	racks  []*topichash.Racks     // of images, made when asked for
	lines  map[lineKey]*line
	hasher *topichash.Hasher
	// open are the topics whose hash is not to be told, from an image on, and
	// why.
	open        map[string]opening
	expressions map[string]*regexp.Regexp // nil: it cannot be read
	scratch     []kafka.NodeID
}

// opening is from where on something is left to the controller, and what.
type opening struct {
	from   int
	reason string
}

// step is what becomes visible to coordinators at once.
type step struct {
	// after says in words what the step brought.
	after string
	// spread: its records come one after the other over some time, so that
	// heartbeats may fall between them.
	spread bool
	// optional: it may not happen.
	optional bool
	// upgrade: every coordinator starts anew in a release that stores hashes.
	upgrade bool
	// racks: the racks of some broker changed, and with them hashes of topics
	// that no record names.
	racks bool
	// why says of a topic what the step changes for it; nil: not by name.
	why map[string][]string
	// cause is said of every other topic whose hash changes.
	cause string
	// parts is, of a spread step, how many of a topic's partitions change its
	// hash, each at its own time.
	parts map[string]int
	// grown has topics with new partitions, created those that are new.
	grown   map[string]struct{}
	created []string
	touched map[string]struct{}
	moved   map[int32]struct{} // partitions of __consumer_offsets with another coordinator
}

// NewPlan checks changes against an image, each as the ones before leave it,
// and replays them. The error is a *ChangeError, or ErrTooLarge.
func NewPlan(base *image.MetadataImage, changes []Change) (*Plan, error) {
	if len(changes) == 0 {
		return nil, invalid("the plan has no changes")
	}
	if len(changes) > maxChanges {
		return nil, fmt.Errorf("%w: it has %d changes, at most %d are allowed", ErrTooLarge, len(changes), maxChanges)
	}
	b := &builder{plan: &Plan{
		images: []*image.MetadataImage{base},
		lines:  make(map[lineKey]*line),
		hasher: topichash.NewHasher(),
		open:   make(map[string]opening),

		expressions: make(map[string]*regexp.Regexp),
	}}
	for i := range changes {
		if changes[i].Kind == Upgrade && len(changes) > 1 {
			return nil, &ChangeError{Index: i, Kind: Upgrade, Err: invalid("an upgrade is predicted by itself; ask for the other changes apart")}
		}
		if err := b.change(&changes[i]); err != nil {
			return nil, &ChangeError{Index: i, Kind: changes[i].Kind, Err: err}
		}
	}
	b.plan.racks = make([]*topichash.Racks, len(b.plan.images))
	return b.plan, nil
}

// Start is the image that the plan begins with.
func (p *Plan) Start() *image.MetadataImage { return p.images[0] }

// End is the image that the plan leads to. What is left to the controller is
// made up in it.
func (p *Plan) End() *image.MetadataImage { return p.images[len(p.images)-1] }

// builder makes the steps.
type builder struct {
	plan    *Plan
	records int
}

func (b *builder) image() *image.MetadataImage { return b.plan.End() }

func (b *builder) change(c *Change) error {
	switch c.Kind {
	case Reassign:
		return b.reassign(c)
	case AddPartitions:
		return b.addPartitions(c)
	case CreateTopic:
		return b.createTopic(c)
	case DeleteTopic:
		return b.deleteTopic(c)
	case Rack:
		return b.rack(c)
	case RestartBroker:
		return b.restart(c)
	case UnregisterBroker:
		return b.unregister(c)
	case MoveCoordinator:
		return b.moveCoordinator(c)
	case Upgrade:
		return b.upgrade(c)
	}
	return invalid("there is no such kind of change%s", didYouMean(string(c.Kind), kinds))
}

// recorder takes the records of one step.
type recorder struct {
	*delta.Delta
	b   *builder
	n   int
	err error
}

func (r *recorder) add(m record.Message) {
	if r.err != nil {
		return
	}
	if r.n++; r.b.records+r.n > maxRecords {
		r.err = fmt.Errorf("%w: more than %d records would be written", ErrTooLarge, maxRecords)
		return
	}
	r.err = r.Replay(m)
}

// step adds a step of the records that fill gives, unless there are none.
func (b *builder) step(s step, fill func(*recorder)) error {
	base := b.image()
	r := recorder{Delta: delta.New(base), b: b}
	fill(&r)
	if r.err != nil {
		return fmt.Errorf("replay what would be written: %w", r.err)
	}
	if r.n == 0 {
		return nil
	}
	b.records += r.n
	at := base.Provenance()
	at.Offset++
	next := r.Apply(at)
	s.racks = r.RacksMoved()
	s.touched = make(map[string]struct{})
	for t := range r.TouchedTopics() {
		s.touched[t.Name()] = struct{}{}
	}
	for _, t := range r.DeletedTopics() {
		s.touched[t.Name] = struct{}{}
	}
	if _, ok := s.touched[kafka.OffsetsTopic]; ok {
		s.moved = coordinatorsMoved(base, next)
	}
	b.plan.steps = append(b.plan.steps, s)
	b.plan.images = append(b.plan.images, next)
	return nil
}

// coordinatorsMoved are the partitions of __consumer_offsets that have another
// leader, or the same one in another epoch: it begins with an empty cache.
func coordinatorsMoved(base, next *image.MetadataImage) map[int32]struct{} {
	moved := make(map[int32]struct{})
	before, existed := base.Topics().ByName(kafka.OffsetsTopic)
	after, ok := next.Topics().ByName(kafka.OffsetsTopic)
	if !ok {
		return moved
	}
	var old image.Partition
	for number, p := range after.Partitions() {
		if !existed || !before.Partition(number, &old) || old.Leader != p.Leader || old.LeaderEpoch != p.LeaderEpoch {
			moved[number] = struct{}{}
		}
	}
	return moved
}

// maxExpression bounds the length of a regular expression that is looked at.
const maxExpression = 4096

// expression compiles one of a group's regular expressions, which a coordinator
// matches by RE2/J against all of a name; nil if it cannot be read here.
func (p *Plan) expression(text string) *regexp.Regexp {
	e, known := p.expressions[text]
	if !known && len(text) <= maxExpression {
		e, _ = regexp.Compile(`^(?:` + text + `)$`) // why it cannot be read is no matter
	}
	p.expressions[text] = e
	return e
}

func (p *Plan) matches(expression, name string) bool {
	e := p.expression(expression)
	return e != nil && e.MatchString(name)
}
