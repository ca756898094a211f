package topichash

import (
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Verdict says how the hash that a coordinator stored relates to the metadata
// log.
type Verdict string

const (
	// Match: the stored hash is that of the newest image.
	Match Verdict = "match"
	// Pending: the coordinator dropped a hash of a subscribed topic, and
	// nothing proves yet that it computed it anew; the next heartbeat of a
	// member makes it.
	Pending Verdict = "pending"
	// Stale: the coordinator holds hashes of an older image and will not
	// notice by itself, until a record touches one of the topics or the
	// coordinator moves.
	Stale Verdict = "stale"
	// Unknown: cannot be told; the reason says why.
	Unknown Verdict = "unknown"
	// None: there is no hash to compare with.
	None Verdict = "none"
	// Drift: no image explains the stored hash. The broker and the log
	// disagree, or this program is wrong.
	Drift Verdict = "drift"
)

// Reasons of Unknown.
const (
	OlderThanHistory  = "olderThanHistory"  // it may come from before the first image held here
	BehindCoordinator = "behindCoordinator" // it was stored after the newest image held here
	NotStoredYet      = "notStoredYet"      // no record with a hash was written since members joined
	NoMembers         = "noMembers"         // nobody makes the coordinator compare
	TooManyMixes      = "tooManyMixes"      // so many versions of its topics that not every mix was tried
)

// Question is what a verdict depends on besides the history of the topics.
type Question struct {
	// NoHash says that the group has none by its type, by the version of its
	// coordinator, or because the zero it stored is one that the version
	// writes regardless of the topics.
	NoHash bool
	// Topics are the names that the group subscribes to, distinct, existing
	// or not. Each must be subscribed in the cache.
	Topics []string
	// Members says whether anybody makes the coordinator compare.
	Members bool
	// Stored says whether a record with the hash was written; Hash is its
	// value and Time when it was written, in milliseconds since 1970.
	Stored bool
	Hash   int64
	Time   int64
	// Loaded is the metadata offset of the first image from which the
	// coordinator may have filled its cache since it was elected; what it held
	// before is gone. kafka.UnknownOffset: not within our history.
	Loaded   kafka.Offset
	LoadedAt int64 // when that record was written
	// Window is how long a dropped hash may take to be computed anew, in
	// milliseconds: the longer of two heartbeat intervals and of the session
	// timeout.
	Window int64
	// Now is until when the group's log was read: what a coordinator wrote
	// later is no proof that it wrote nothing.
	Now int64
}

// Answer is a verdict with what it rests on.
type Answer struct {
	Verdict  Verdict
	Reason   string // of Unknown, else ""
	Computed int64  // the group's hash in the newest image
	// Since is, in milliseconds since 1970, for Pending when the record was
	// written that made the coordinator drop a hash, for Stale when the one was
	// that made the stored hash untrue; 0 for the others.
	Since int64
	// Outdated are, for Pending and Stale, the topics of which the stored hash
	// holds an older hash than that of the newest image. A record that touches
	// another one of the group's topics sets nothing off.
	Outdated []string
	// Held are the hashes that the stored one is made of where they are not
	// those of the newest image: of the topics of Outdated, without those that
	// did not exist.
	Held []NamedHash
}

// Equal compares every field.
func (a *Answer) Equal(b *Answer) bool {
	return a.Verdict == b.Verdict && a.Reason == b.Reason && a.Computed == b.Computed && a.Since == b.Since &&
		slices.Equal(a.Outdated, b.Outdated) && slices.Equal(a.Held, b.Held)
}

// Assess answers a question. It computes what was dropped of the group's topics.
func (c *Cache) Assess(q Question) Answer {
	a := Answer{Verdict: None}
	if q.NoHash {
		return a
	}
	a.Computed = c.GroupHash(slices.Values(q.Topics))
	switch {
	case !c.hasAll(q.Topics):
		a.Verdict, a.Reason = Unknown, OlderThanHistory
	case !q.Stored && q.Members:
		a.Verdict, a.Reason = Unknown, NotStoredYet
	case !q.Stored:
		a.Verdict, a.Reason = Unknown, NoMembers
	case q.Hash == a.Computed:
		a.Verdict = Match
	case !q.Members:
		a.Verdict, a.Reason = Unknown, NoMembers
	default:
		c.explain(q, &a)
	}
	return a
}

// hasAll says whether somebody subscribes to each topic. Where that is over the
// history of the topic is gone.
func (c *Cache) hasAll(topics []string) bool {
	for _, name := range topics {
		if c.topics[name] == nil {
			return false
		}
	}
	return true
}

// explain looks for the images that give a stored hash which is not the fresh
// one.
func (c *Cache) explain(q Question, a *Answer) {
	topics := make([]*Topic, 0, len(q.Topics))
	for _, name := range q.Topics {
		if t, ok := c.Topic(name); ok {
			topics = append(topics, t)
		}
	}
	chosen, all := c.mix(q.Hash, topics, func(t *Topic) int { return t.at(q.evicted(t)) })
	allowance := int64(0)
	if chosen == nil && !c.behind(q) {
		// Older than the last drop: the coordinator has not evaluated since.
		// What it stores for another reason may be, too, until it has applied
		// the record that made it drop.
		chosen, all = c.mix(q.Hash, topics, func(*Topic) int { return 0 })
		allowance = applyLag
	}
	if chosen == nil {
		a.Verdict, a.Reason = c.unexplained(q, topics, all)
		return
	}
	dropped, outdated := q.history(topics, chosen)
	a.Outdated, a.Held = outdatedTopics(topics, chosen)
	if q.Now-dropped < q.Window && q.Time <= dropped+allowance {
		a.Verdict, a.Since = Pending, dropped
		return
	}
	a.Verdict, a.Since = Stale, outdated
}

// applyLag is how much later than the metadata log a coordinator may apply a
// record, in milliseconds, clocks that differ included.
const applyLag = 2_000

// behind says whether the hash was stored after the newest image's last record:
// it may rest on one that is not here yet.
func (c *Cache) behind(q Question) bool { return c.image.Provenance().AppendTime < q.Time }

// history looks at the topics whose chosen version is not the newest one:
// dropped is when the coordinator last lost the hash of one of them, outdated
// when the first of them became untrue.
func (q *Question) history(topics []*Topic, chosen []int) (dropped, outdated int64) {
	for i, t := range topics {
		if chosen[i] == len(t.Versions)-1 {
			continue
		}
		dropped = max(dropped, q.evictedAt(t))
		if next := t.Versions[chosen[i]+1].From.AppendTime; outdated == 0 || next < outdated {
			outdated = next
		}
	}
	return dropped, outdated
}

// outdatedTopics are those whose chosen version is not the newest one, and the
// hashes that are held of them.
func outdatedTopics(topics []*Topic, chosen []int) (names []string, held []NamedHash) {
	for i, t := range topics {
		if chosen[i] == len(t.Versions)-1 {
			continue
		}
		names = append(names, t.Name)
		if v := t.Versions[chosen[i]]; v.Exists {
			held = append(held, NamedHash{t.Name, v.Hash})
		}
	}
	return names, held
}

// unexplained is the verdict where no mix gives the stored hash; all says
// whether every one was tried.
func (c *Cache) unexplained(q Question, topics []*Topic, all bool) (Verdict, string) {
	if c.behind(q) {
		return Unknown, BehindCoordinator
	}
	for _, t := range topics {
		if q.evicted(t) == kafka.UnknownOffset {
			return Unknown, OlderThanHistory
		}
	}
	if !all {
		return Unknown, TooManyMixes
	}
	if dropped := q.lastDrop(topics); q.Now-dropped < q.Window && q.Time <= dropped+applyLag {
		return Unknown, OlderThanHistory // the coordinator may not have evaluated since
	}
	return Drift, ""
}

// evicted is the metadata offset at which the coordinator last lost its hash
// of the topic: a record named the topic, or the coordinator was elected. It
// is kafka.UnknownOffset if neither happened within our history.
func (q *Question) evicted(t *Topic) kafka.Offset {
	loaded := q.Loaded
	if loaded < t.Since {
		loaded = kafka.UnknownOffset
	}
	return max(t.Touched.Offset, loaded)
}

// lastDrop is when the coordinator last lost the hash of one of the topics.
func (q *Question) lastDrop(topics []*Topic) (last int64) {
	for _, t := range topics {
		last = max(last, q.evictedAt(t))
	}
	return last
}

// at is the index of the version that the topic had in the image of an offset.
func (t *Topic) at(offset kafka.Offset) (index int) {
	for i, v := range t.Versions {
		if v.From.Offset <= offset {
			index = i
		}
	}
	return index
}

func (q *Question) evictedAt(t *Topic) int64 {
	if q.Loaded >= t.Since && q.Loaded > t.Touched.Offset {
		return q.LoadedAt
	}
	return t.Touched.AppendTime
}

// maxMixes bounds the search for a mix of versions.
const maxMixes = 1 << 12

// mix returns a choice of one version for each topic, from its oldest
// candidate on, that gives the hash, as indices of Versions; nil if there is
// none. all says whether every choice was tried: it gives up after maxMixes.
func (c *Cache) mix(hash int64, topics []*Topic, oldest func(*Topic) int) (chosen []int, all bool) {
	first := make([]int, len(topics))
	for i, t := range topics {
		first[i] = oldest(t)
	}
	chosen = slices.Clone(first)
	named := make([]NamedHash, 0, len(topics))
	for range maxMixes {
		named = named[:0]
		for i, t := range topics {
			if v := t.Versions[chosen[i]]; v.Exists {
				named = append(named, NamedHash{t.Name, v.Hash})
			}
		}
		if c.hasher.Group(c.scheme, named) == hash {
			return chosen, true
		}
		if !advance(chosen, first, topics) {
			return nil, true
		}
	}
	return nil, false
}

// advance makes chosen the next choice; false after the last one.
func advance(chosen, first []int, topics []*Topic) bool {
	for i, t := range topics {
		if chosen[i]++; chosen[i] < len(t.Versions) {
			return true
		}
		chosen[i] = first[i]
	}
	return false
}
