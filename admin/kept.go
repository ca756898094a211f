package admin

import (
	"sync"
	"time"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// kept are the lists of responses as they were encoded, while the state that they
// were made of, S, is what it was, and they are asked for: dashboards ask the same
// every few seconds of a cluster that seldom changes. Its zero value is empty; it
// may be used from any goroutine.
type kept[S comparable] struct {
	mu    sync.Mutex
	of    S
	lists map[question]*keptList
	bytes int // of all lists
}

// question is what a list answers.
type question struct {
	version int16
	broker  kafka.NodeID // that the connection stands for
	request string       // encoded, unless all requests ask the same
}

type keptList struct {
	count   int
	encoded []byte
	asked   time.Time
}

// size is what a list takes, its place in the map included.
func (l *keptList) size(q question) int { return len(q.request) + len(l.encoded) + 200 }

const (
	// keepFor is how long a list is kept after it was asked for last.
	keepFor = time.Minute
	// keepBytes is how much lists may take besides the newest one.
	keepBytes = 16 << 20
)

// use has a response use the list that was kept; false if none was: then the
// response keeps its own.
func (k *kept[S]) use(s *streamed, of S, q question, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.lists[q]; l != nil && k.of == of {
		l.asked = now
		s.count, s.encoded = l.count, l.encoded
		return true
	}
	s.keep = func(encoded []byte) { k.put(of, q, &keptList{count: s.count, encoded: encoded, asked: now}) }
	return false
}

// put keeps a list, in place of those that no longer fit in beside it.
func (k *kept[S]) put(of S, q question, l *keptList) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of != of || k.lists == nil {
		k.clear()
		k.of, k.lists = of, map[question]*keptList{}
	}
	k.remove(q)
	for k.bytes > 0 && k.bytes+l.size(q) > keepBytes {
		k.remove(k.oldest())
	}
	k.lists[q] = l
	k.bytes += l.size(q)
}

func (k *kept[S]) remove(q question) {
	if l := k.lists[q]; l != nil {
		k.bytes -= l.size(q)
		delete(k.lists, q)
	}
}

// oldest is what was not asked for the longest.
func (k *kept[S]) oldest() (oldest question) {
	var least *keptList
	for q, l := range k.lists {
		if least == nil || l.asked.Before(least.asked) {
			oldest, least = q, l
		}
	}
	return oldest
}

func (k *kept[S]) clear() {
	var none S
	k.of, k.lists, k.bytes = none, nil, 0
}

// forget drops what nobody has asked for lately, and with the last list the state.
func (k *kept[S]) forget(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for q, l := range k.lists {
		if now.Sub(l.asked) > keepFor {
			k.remove(q)
		}
	}
	if len(k.lists) == 0 {
		k.clear()
	}
}

// What lists are made of.
type (
	topicsState struct {
		topics  *image.TopicsImage
		cluster *image.ClusterImage
	}
	describedState struct {
		groups pipeline.GroupsVersion
		topics *image.TopicsImage // has the names of what members read, and who coordinates
	}
)
