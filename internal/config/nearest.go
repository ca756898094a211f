package config

import (
	"slices"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
)

// nearestKey is the end of an error about a key of the file that is not known.
func (k *keys) nearestKey(key string) string {
	var choices []string
	for _, s := range k.settings {
		if !s.isSecret() {
			choices = append(choices, s.key)
		}
	}
	if near := nearest(key, choices, "."); near != "" {
		return "; did you mean " + near + "?"
	}
	section := key
	for {
		section = section[:strings.LastIndexByte(section, '.')+1]
		if section == "" {
			return "; the keys are " + listed(k.under(""))
		}
		if names := k.under(section); len(names) > 0 {
			return "; the keys of " + strings.TrimSuffix(section, ".") + " are " + listed(names)
		}
		section = strings.TrimSuffix(section, ".")
	}
}

// nearestVariable is that for a variable.
func (k *keys) nearestVariable(name string) string {
	var choices []string
	for name := range k.variables() {
		choices = append(choices, name)
	}
	slices.Sort(choices) // of several that are as near, always the same
	if near := nearest(name, choices, "_"); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; every variable is a setting's name in capitals, with _ for . and -, such as " + variable("kafka.bootstrap")
}

// nearest finds the choice that s was meant to be: it was left incomplete, is
// too long, is misspelt, or lacks its section. "" if nothing is like it.
func nearest(s string, choices []string, separator string) string {
	for _, c := range choices {
		if s != "" && strings.HasPrefix(c, s) {
			return c
		}
	}
	if near := cli.Nearest(s, choices); near != "" {
		return near
	}
	for _, c := range choices {
		if strings.HasPrefix(s, c+separator) {
			return c
		}
	}
	last := separator + strings.TrimPrefix(s[strings.LastIndex(s, separator)+1:], variablePrefix)
	for _, c := range choices {
		if len(last) > 1 && strings.HasSuffix(c, last) {
			return c
		}
	}
	return ""
}

// listed is "a, b and c". There is one word at least.
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// quoteOdd is a name that somebody else chose, as an error may show it.
func quoteOdd(name string) string { return cli.Name(name) }
