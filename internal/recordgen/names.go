package main

import "strings"

// goName is the Go form of one of Kafka's field names: brokerId is BrokerID,
// topicIds is TopicIDs, isr is Isr.
func goName(name string) string {
	words := splitWords(strings.ToUpper(name[:1]) + name[1:])
	for i, w := range words {
		switch w {
		case "Id":
			words[i] = "ID"
		case "Ids":
			words[i] = "IDs"
		}
	}
	return strings.Join(words, "")
}

// splitWords cuts before every upper-case letter that follows a lower-case
// one, and before the last letter of a run of upper-case ones.
func splitWords(s string) []string {
	var words []string
	start := 0
	for i := 1; i < len(s); i++ {
		up := isUpper(s[i])
		if up && !isUpper(s[i-1]) || up && i+1 < len(s) && !isUpper(s[i+1]) {
			words = append(words, s[start:i])
			start = i
		}
	}
	return append(words, s[start:])
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// fileName is the name of the generated file for a record.
func fileName(record string) string {
	record = strings.Replace(record, "KRaft", "Kraft", 1)
	return strings.ToLower(strings.Join(splitWords(record), "_")) + suffix
}

// lowerFirst is the name with its first word in lower case, for a private
// field.
func lowerFirst(name string) string {
	words := splitWords(name)
	words[0] = strings.ToLower(words[0])
	return strings.Join(words, "")
}
