package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kraftside/kraftside/internal/kafka"
)

// setting is one thing that can be set.
type setting struct {
	key   string // in the section, or with it: "kafka.tls.ca-file"
	value value
	help  string
}

// value is a field of a Config, and how to read and write it.
type value interface {
	// set takes what one place says. More than one text are the items of a
	// list.
	set(texts []string) error
	// node is the value as YAML.
	node() *yaml.Node
	// form is how the value is written, in short: "HOST:PORT,…".
	form() string
}

// isSecret says whether only the environment may hold the value itself.
func (s *setting) isSecret() bool {
	_, is := s.value.(*scalar[Secret])
	return is
}

// isBool says whether the name alone, as a flag, means true.
func (s *setting) isBool() bool { return slices.Contains(strings.Split(s.value.form(), "|"), "true") }

// scalar is a value that is one thing.
type scalar[T any] struct {
	target *T
	parse  func(string) (T, bool)
	format func(T) string
	short  string // the form
	want   string // what a text must be, for errors; "" is the form
	raw    bool   // YAML needs no quotes, whatever the value is
	quiet  bool   // what is wrong may hold a secret, and is not repeated
}

func (s *scalar[T]) set(texts []string) error {
	want := s.want
	if want == "" {
		want = s.short
	}
	if len(texts) != 1 {
		return fmt.Errorf("is a list; want %s", want)
	}
	v, ok := s.parse(texts[0])
	switch {
	case !ok && s.quiet:
		return fmt.Errorf("is something else; want %s", want)
	case !ok:
		return fmt.Errorf("is %q; want %s", texts[0], want)
	}
	*s.target = v
	return nil
}

func (s *scalar[T]) node() *yaml.Node {
	if s.raw {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: s.format(*s.target)} // an empty one is null
	}
	return textNode(s.format(*s.target))
}

func (s *scalar[T]) form() string { return s.short }

func text(target *string, short string) value {
	return checked(target, short, "", func(string) bool { return true })
}

// checked is a text that must pass a check.
func checked(target *string, short, want string, check func(string) bool) value {
	return &scalar[string]{
		target: target, short: short, want: want,
		parse:  func(s string) (string, bool) { return s, check(s) },
		format: func(s string) string { return s },
	}
}

// filePath is that of a file that is read, and has to be there.
func filePath(target *string) value { return text(target, fileForm) }

const fileForm = "FILE"

func endpoint(target *string) value {
	return &scalar[string]{
		target: target, short: "URL", want: "http://HOST:PORT or https://HOST:PORT, without a user", quiet: true,
		parse:  func(s string) (string, bool) { return s, otlpEndpoint(s) },
		format: func(s string) string { return s },
	}
}

func address(target *string) value { return checked(target, "[HOST]:PORT", "", listenAddress) }

// optionalAddress may be empty, where that means: nowhere.
func optionalAddress(target *string) value {
	return checked(target, "[HOST]:PORT", "[HOST]:PORT, or nothing", func(s string) bool { return s == "" || listenAddress(s) })
}

// port is a number of a port, 0 for none.
func port(target *int) value {
	return &scalar[int]{
		target: target, short: "PORT", want: "a port, which is a number up to 65535", raw: true,
		parse: func(s string) (int, bool) {
			n, err := strconv.ParseUint(s, 10, 16)
			return int(n), err == nil
		},
		format: strconv.Itoa,
	}
}

func peerAddress(target *string) value {
	return checked(target, "HOST[:PORT]", "HOST or HOST:PORT with {host} or {id} in it", peerTemplate)
}

func boolean(target *bool) value {
	return &scalar[bool]{
		target: target, short: "true|false", want: "true or false", raw: true,
		parse:  func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" },
		format: strconv.FormatBool,
	}
}

// choice is one of a few words. The default, which target has, need not be
// among them.
func choice[T ~string](target *T, choices ...T) value {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = string(c)
	}
	last, standard := len(words)-1, *target
	return &scalar[T]{
		target: target, short: strings.Join(words, "|"), raw: true,
		want:   strings.Join(words[:last], ", ") + " or " + words[last],
		parse:  func(s string) (T, bool) { return T(s), slices.Contains(choices, T(s)) || T(s) == standard },
		format: func(v T) string { return string(v) },
	}
}

func size(target *Bytes) value {
	return &scalar[Bytes]{
		target: target, short: "SIZE", want: "a size such as 10MiB, 1GB or 4096", raw: true,
		parse: parseBytes, format: Bytes.String,
	}
}

func duration(target *time.Duration) value {
	return &scalar[time.Duration]{
		target: target, short: "DURATION", want: "a duration such as 90s, 5m or 1h30m",
		parse: func(s string) (time.Duration, bool) {
			d, err := time.ParseDuration(s)
			return d, err == nil && d >= 0
		},
		format: durationText,
	}
}

// durationText leaves out what is zero, as people write it.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func node(target *kafka.NodeID) value {
	return &scalar[kafka.NodeID]{
		target: target, short: "ID", want: "a node.id, which is a number from 0 on", raw: true,
		parse: func(s string) (kafka.NodeID, bool) {
			n, err := strconv.ParseUint(s, 10, 31)
			return kafka.NodeID(n), err == nil
		},
		format: func(n kafka.NodeID) string {
			if n == kafka.NoNode {
				return ""
			}
			return strconv.Itoa(int(n))
		},
	}
}

func secret(target *Secret) value {
	return &scalar[Secret]{
		target: target, short: "SECRET",
		parse:  func(s string) (Secret, bool) { return Secret(s), true },
		format: Secret.String,
	}
}

// texts is a list. On a command line and in a variable its items are separated
// by commas.
type texts struct {
	target *[]string
	item   string
	check  func(string) bool // nil takes anything
}

func list(target *[]string, item string, check func(string) bool) value {
	return &texts{target, item, check}
}

func (l *texts) set(items []string) error {
	for i, s := range items {
		if s == "" || l.check != nil && !l.check(s) {
			return fmt.Errorf("has %q as item %d; want %s", s, i+1, l.item)
		}
	}
	*l.target = items
	return nil
}

func (l *texts) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range *l.target {
		n.Content = append(n.Content, textNode(s))
	}
	return n
}

func (l *texts) form() string { return l.item + ",…" }

// split makes of one text what set takes.
func split(v value, s string) []string {
	if _, isList := v.(*texts); !isList {
		return []string{s}
	}
	if strings.TrimSpace(s) == "" {
		return nil
	}
	items := strings.Split(s, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}
