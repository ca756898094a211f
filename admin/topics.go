package admin

import (
	"fmt"
	"slices"
	"strings"
)

// internalTopic is Topic.isInternal.
func internalTopic(name string) bool { return slices.Contains(coordinatorTopics, name) }

// maxTopicLength is Topic.MAX_NAME_LENGTH.
const maxTopicLength = 249

// validTopic says whether a topic can have the name.
func validTopic(name string) bool { return wrongTopic(name) == "" }

// wrongTopic says in Kafka's words why no topic can have the name; "" if one can
// (Topic.validate).
func wrongTopic(name string) string {
	why := ""
	switch {
	case name == "":
		why = "the empty string is not allowed"
	case name == ".", name == "..":
		why = "'" + name + "' is not allowed"
	case len(name) > maxTopicLength:
		why = fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, maxTopicLength)
	case strings.ContainsFunc(name, notInTopics):
		why = "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	default:
		return ""
	}
	return "Topic name is invalid: " + why
}

func notInTopics(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && r != '.' && r != '_' && r != '-'
}
