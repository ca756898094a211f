// Package imagediff tells what differs between two metadata images, for people
// and as JSON, and makes the image that a snapshot or a log folder gives at an
// offset.
//
// Two images have no difference exactly if image.MetadataImage.Equal says so.
// Secrets are not shown: of a credential or a sensitive configuration it says
// that it changed.
package imagediff

import (
	"fmt"
	"reflect"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Part is what a change is about.
type Part string

// The parts, in the order in which changes come.
const (
	Features    Part = "feature"
	Brokers     Part = "broker"
	Controllers Part = "controller"
	Topics      Part = "topic"
	Partitions  Part = "partition"
	Configs     Part = "config"
	Quotas      Part = "quota"
	Acls        Part = "acl"
	Scram       Part = "scram"
	Tokens      Part = "token"
	ProducerIDs Part = "producerIds"
)

// Action is what happened to it.
type Action string

// The actions. Only a topic is recreated: its name is there before and after,
// with another id.
const (
	Added     Action = "added"
	Removed   Action = "removed"
	Changed   Action = "changed"
	Recreated Action = "recreated"
)

// Change is one difference.
type Change struct {
	Part   Part   `json:"part"`
	Action Action `json:"action"`
	// Topic, TopicID and Partition name a topic or a partition, Node a broker
	// or a controller. Resource is what a configuration, a quota or an ACL is
	// for, or the user of a SCRAM credential. Name is a feature, the key of a
	// configuration or a quota, a SCRAM mechanism, or the id of an ACL or of a
	// token.
	Topic     string        `json:"topic,omitempty"`
	TopicID   kafka.TopicID `json:"topicId,omitzero"`
	Partition *int32        `json:"partition,omitempty"`
	Node      *kafka.NodeID `json:"nodeId,omitempty"`
	Resource  string        `json:"resource,omitempty"`
	Name      string        `json:"name,omitempty"`
	// Field is what of it changed, if it has several.
	Field string `json:"field,omitempty"`
	// Before and After are values of the field, or of all that was added or
	// removed.
	Before any `json:"before"`
	After  any `json:"after"`
	// Summary says it in words, safe for a terminal.
	Summary string `json:"summary"`
}

// Images lists what is different in b.
func Images(a, b *image.MetadataImage) []Change {
	var d differ
	d.things(features(a), features(b))
	d.things(brokers(a), brokers(b))
	d.things(controllers(a), controllers(b))
	d.topics(a, b)
	d.things(configs(a), configs(b))
	d.things(quotas(a), quotas(b))
	d.things(acls(a), acls(b))
	d.things(credentials(a), credentials(b))
	d.things(tokens(a), tokens(b))
	d.things(producerIDs(a), producerIDs(b))
	return d.changes
}

// thing is something in an image that is no topic.
type thing struct {
	// key tells it from others of its kind; it can be a key of a map. identity
	// is a Change with what names it, and name says the same in words.
	key      any
	identity Change
	name     string
	// added and removed are the words for what can happen to it.
	added, removed string
	fields         []field
}

// field is a property of a thing. A thing that has but one leaves its name
// empty.
type field struct {
	name string
	// value is what is compared, and shown what JSON has of it.
	value, shown any
	text         string
	bare         bool // text speaks for itself
	detail       bool // not worth saying when the thing comes or goes
}

// detailed is f as a detail.
func detailed(f field) field {
	f.detail = true
	return f
}

// plain is a field that is shown as it is.
func plain(name string, value any) field {
	return field{name: name, value: value, shown: value, text: fmt.Sprint(value)}
}

// flag is a field that is true or false.
func flag(name, words string, value bool) field {
	f := field{name: name, value: value, shown: value, text: words, bare: true}
	if !value {
		f.text = "not " + words
	}
	return f
}

// secret is a field that is not shown.
func secret(name string, value any) field {
	return field{name: name, value: value, shown: redacted, text: redacted}
}

type differ struct{ changes []Change }

func (d *differ) add(c Change, summary string) {
	c.Summary = summary
	d.changes = append(d.changes, c)
}

// things compares two lists of one kind, each in the order of their names.
func (d *differ) things(before, after []thing) {
	old := make(map[any]*thing, len(before))
	for i := range before {
		old[before[i].key] = &before[i]
	}
	for i := range after {
		now := &after[i]
		if was, ok := old[now.key]; ok {
			d.fields(was, now)
			delete(old, now.key)
			continue
		}
		c := now.identity
		c.Action, c.After = Added, now.shown()
		d.add(c, now.name+" "+now.added+now.text())
	}
	for i := range before {
		was := &before[i]
		if _, left := old[was.key]; !left {
			continue
		}
		c := was.identity
		c.Action, c.Before = Removed, was.shown()
		d.add(c, was.name+" "+was.removed+was.text())
	}
}

// fields compares what both have.
func (d *differ) fields(was, now *thing) {
	for i, f := range now.fields {
		o := was.fields[i]
		if reflect.DeepEqual(o.value, f.value) {
			continue
		}
		c := now.identity
		c.Action, c.Field, c.Before, c.After = Changed, f.name, o.shown, f.shown
		name := now.name
		switch {
		case f.bare:
			name += ":"
		case f.name != "":
			name += ": " + f.name
		}
		if f.text == redacted {
			d.add(c, name+" changed, "+redacted)
			continue
		}
		d.add(c, fmt.Sprintf("%s %s -> %s", name, o.text, f.text))
	}
}

// shown is all of a thing for JSON.
func (t *thing) shown() any {
	if len(t.fields) == 1 && t.fields[0].name == "" {
		return t.fields[0].shown
	}
	all := make(map[string]any, len(t.fields))
	for _, f := range t.fields {
		all[f.name] = f.shown
	}
	return all
}

// text is what is worth saying of a thing that comes or goes.
func (t *thing) text() string {
	text := ""
	for _, f := range t.fields {
		switch {
		case f.name == "":
			return " " + f.text
		case f.detail || f.text == "none" || f.text == "[]" || f.text == redacted || f.shown == false:
		case f.shown == true:
			text += ", " + f.text
		default:
			text += ", " + f.name + " " + f.text
		}
	}
	return text
}
