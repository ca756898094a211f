package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// file is one reading of a YAML file.
type file struct {
	*keys
	path string
	seen map[string]int // line of a key
	errs []error
}

func (k *keys) loadFile(path string) error {
	b, err := readFile(path)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	return k.parseFile(path, b)
}

func (k *keys) parseFile(path string, b []byte) error {
	f := &file{keys: k, path: path, seen: map[string]int{}}
	d := yaml.NewDecoder(bytes.NewReader(b))
	var root yaml.Node
	switch err := d.Decode(&root); {
	case err == io.EOF: // nothing but comments
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	f.section("", root.Content[0])
	if d.Decode(new(yaml.Node)) != io.EOF {
		f.fail(0, "a second document follows the first: put everything into one")
	}
	return errors.Join(f.errs...)
}

func readFile(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return b, err
}

func (f *file) fail(line int, format string, args ...any) {
	at := f.path
	if line > 0 {
		at = fmt.Sprintf("%s:%d", f.path, line)
	}
	f.errs = append(f.errs, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
}

// section reads the keys under prefix, which is "" or ends in a dot. An alias
// cannot lead round in a circle: every step down is one into a known section.
func (f *file) section(prefix string, n *yaml.Node) {
	n = target(n)
	switch {
	case n.Kind == yaml.MappingNode:
	case isNull(n):
		return
	case prefix == "":
		f.fail(n.Line, "want a mapping of settings; its keys are %s", listed(f.under("")))
		return
	default:
		f.fail(n.Line, "%s is a section; its keys are %s", strings.TrimSuffix(prefix, "."), listed(f.under(prefix)))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f.entry(prefix+n.Content[i].Value, n.Content[i], n.Content[i+1])
	}
}

func (f *file) entry(key string, name, n *yaml.Node) {
	s, known := f.byKey[key]
	switch {
	case !known && len(f.under(key+".")) > 0:
		f.section(key+".", n)
	case !known:
		f.fail(name.Line, "unknown key %s%s", quoteOdd(key), f.nearestKey(key))
	case s.isSecret():
		f.fail(name.Line, "%s may not be here, where others read it: name a file as %s-file, or set the variable %s", key, key, variable(key))
	case f.seen[key] != 0:
		f.fail(name.Line, "%s was given before, at line %d", key, f.seen[key])
	default:
		f.seen[key] = name.Line
		f.value(s, name.Line, target(n))
	}
}

func (f *file) value(s *setting, line int, n *yaml.Node) {
	var items []string
	switch {
	case isNull(n):
		return
	case n.Kind == yaml.ScalarNode:
		items = split(s.value, n.Value)
	case n.Kind == yaml.MappingNode:
		f.fail(line, "%s has keys of its own; want %s", s.key, s.value.form())
		return
	default:
		for _, item := range n.Content {
			if item = target(item); item.Kind != yaml.ScalarNode || isNull(item) {
				f.fail(item.Line, "%s has an item that is no text; want %s", s.key, s.value.form())
				return
			}
			items = append(items, item.Value)
		}
	}
	if err := s.value.set(items); err != nil {
		f.fail(line, "%s %w", s.key, err)
	}
}

// target is the node that an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
