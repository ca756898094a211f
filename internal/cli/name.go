package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kraftside/kraftside/internal/wire"
)

// Name is a name from Kafka as text output shows it: as it is if that is one
// plain word, else as a JSON string, so that it can neither act on a terminal
// nor pass for something else.
func Name(s string) string {
	if s != "" && strings.IndexFunc(s, odd) < 0 && utf8.ValidString(s) {
		return s
	}
	return string(wire.AppendJSONString(nil, s))
}

func odd(r rune) bool {
	return r == '"' || r == '\\' || unicode.IsSpace(r) || wire.ActsOnTerminal(r)
}

// Count is a number of things that have a regular plural.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Escape is a text that may hold names from Kafka with every character that
// could act on a terminal written as a JSON escape.
func Escape(s string) string {
	if strings.IndexFunc(s, wire.ActsOnTerminal) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if wire.ActsOnTerminal(r) {
			fmt.Fprintf(&b, `\u%04X`, r)
			continue
		}
		b.WriteRune(r) // of what is not UTF-8, U+FFFD
	}
	return b.String()
}
