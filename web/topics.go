package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// topics answers /v1/topics. Every sidecar has all topics; the groups that
// subscribe to them are asked for.
func (s *Server) topics(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	p, err := parsePage(q)
	if err != nil {
		return err
	}
	v := s.o.View()
	topics, more := pageOfTopics(v.Image.Topics(), p)
	subscriptions, lacking := s.subscribers(r, v, topics)
	out := api.TopicList[json.RawMessage]{Topics: []json.RawMessage{}, Completeness: lacking}
	describe, bytes := api.NewTopics(v), 0
	for i, t := range topics {
		encoded, err := json.Marshal(describe.Topic(t, subscriptions[t.Name()]))
		if err != nil {
			return err
		}
		out.Topics = append(out.Topics, encoded)
		bytes += len(encoded)
		if last := i == len(topics)-1; last && more || !last && bytes >= p.bytes {
			out.Next = newToken(t.Name())
			break
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// topic answers /v1/topics/{topic}.
func (s *Server) topic(w http.ResponseWriter, r *http.Request) error {
	name, v := r.PathValue("topic"), s.o.View()
	t, ok := v.Image.Topics().ByName(name)
	if !ok && v.Image.Provenance().Offset == kafka.UnknownOffset {
		return fail(http.StatusServiceUnavailable, codeLoading, "the metadata log is not read yet; see /readyz")
	}
	if !ok {
		return fail(http.StatusNotFound, codeNotFound, "no topic %.300q at metadata offset %d", name, v.Image.Provenance().Offset)
	}
	subscriptions, lacking := s.subscribers(r, v, []image.Topic{t})
	writeJSON(w, http.StatusOK, api.OneTopic{
		Topic: api.NewTopics(v).Topic(t, subscriptions[name]), Completeness: lacking,
	})
	return nil
}

// pageOfTopics are the topics of a page, by name, and whether others follow.
// The image has them in another order: this keeps the least of those after the
// page's beginning, so that a page of a large cluster costs one walk and not a
// copy of all topics.
func pageOfTopics(all *image.TopicsImage, p page) (topics []image.Topic, more bool) {
	for t := range all.All() {
		if p.begun && t.Name() <= p.after {
			continue
		}
		full := len(topics) > p.limit
		if full && t.Name() > topics[p.limit].Name() {
			continue
		}
		at, _ := slices.BinarySearchFunc(topics, t, byName)
		topics = slices.Insert(topics, at, t)
		if full {
			topics = topics[:p.limit+1]
		}
	}
	if len(topics) > p.limit {
		return topics[:p.limit], true
	}
	return topics, false
}

func byName(a, b image.Topic) int { return cmp.Compare(a.Name(), b.Name()) }

// subscribers are the groups, of all sidecars, that subscribe to topics, which
// are in the order of their names.
func (s *Server) subscribers(r *http.Request, v *pipeline.View, topics []image.Topic) (api.Subscriptions, api.Completeness) {
	lacking := api.NewCompleteness(v, s.o.Now())
	if len(topics) == 0 {
		return nil, lacking
	}
	first, last := topics[0].Name(), topics[len(topics)-1].Name()
	asked := s.peers.ask(r, v, "/v1/subscriptions", url.Values{"first": {first}, "last": {last}}, maxPageBytes)
	subscriptions := api.NewSubscriptions(v, first, last)
	missing := asked.parsed(func(a answer) error {
		var parsed api.SubscriptionList
		if err := json.Unmarshal(a.body, &parsed); err != nil {
			return err
		}
		subscriptions.Add(parsed.Topics)
		lacking.Add(parsed.Completeness)
		return nil
	})
	lacking.Add(api.Completeness{Missing: missing})
	if !isLocal(r) {
		s.peers.addUncovered(v, &lacking)
	}
	return subscriptions, lacking
}

// subscriptions answers /v1/subscriptions, which peers ask each other: the
// groups of this sidecar by the topics, named from first to last, that they
// subscribe to.
func (s *Server) subscriptions(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r)
	if err != nil {
		return err
	}
	v := s.o.View()
	writeJSON(w, http.StatusOK, api.SubscriptionList{
		Topics:       api.NewSubscriptions(v, q.Get("first"), q.Get("last")),
		Completeness: api.NewCompleteness(v, s.o.Now()),
	})
	return nil
}
