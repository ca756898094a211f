package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kraftside/kraftside/internal/wire"
)

// Format is what -o asks for.
type Format string

// The formats.
const (
	TextFormat Format = "text"
	WideFormat Format = "wide" // text with more columns
	JSONFormat Format = "json"
	YAMLFormat Format = "yaml" // the structure of JSON
)

// Formats lists the formats, the default first.
func Formats() []string {
	return []string{string(TextFormat), string(WideFormat), string(JSONFormat), string(YAMLFormat)}
}

// ParseFormat reads the value of -o.
func ParseFormat(s string) (Format, error) {
	if slices.Contains(Formats(), s) {
		return Format(s), nil
	}
	return "", fmt.Errorf("%s is no output format; %s%s", Name(s), want(Formats()), DidYouMean(s, Formats()))
}

func want(choices []string) string {
	last := len(choices) - 1
	return "want " + strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// AppendJSON adds v as indented JSON and a line feed. What could act on a
// terminal is escaped, which encoding/json does for ASCII alone.
func AppendJSON(b []byte, v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return b, fmt.Errorf("write JSON: %w", err)
	}
	return appendEscaped(b, text.Bytes()), nil
}

// appendEscaped adds JSON or YAML with the characters escaped that act on a
// terminal, and with those that YAML does not allow. All of them stand in
// double quotes: of what an encoder leaves unescaped none is ASCII, but for the
// line feed between values.
func appendEscaped(b, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if wire.ActsOnTerminal(r) && r != '\n' || r == 0xfffe || r == 0xffff {
			b = fmt.Appendf(b, `\u%04X`, r)
		} else {
			b = append(b, text[:size]...)
		}
		text = text[size:]
	}
	return b
}

// AppendYAML adds a JSON value as YAML: the same keys in the same order, the
// same strings, numbers in the same digits. A 64-bit number would lose digits
// and an object its order on the way through Go's maps, so that it goes
// through YAML's own tree, of which JSON is a part.
func AppendYAML(b, jsonText []byte) ([]byte, error) {
	var tree yaml.Node
	if err := yaml.Unmarshal(appendEscaped(nil, jsonText), &tree); err != nil {
		return b, fmt.Errorf("write YAML: %w", err)
	}
	restyle(&tree)
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(&tree); err != nil {
		return b, fmt.Errorf("write YAML: %w", err)
	}
	return appendEscaped(b, text.Bytes()), nil
}

// restyle takes JSON's brackets off, and the quotes of strings that are
// strings without them.
func restyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && !plain(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		restyle(child)
	}
}

// plain says whether every reader of YAML, of version 1.1 too, takes an
// unquoted text for this string.
func plain(s string) bool {
	if s == "" || s[0] != '/' && s[0]|0x20 < 'a' || s[0]|0x20 > 'z' || strings.IndexFunc(s, wire.ActsOnTerminal) >= 0 {
		return false
	}
	return !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(s))
}
