package kube

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aclRow is a row of the table of docs/permissions.md for what is read over the
// network: from the quorum, or from Kafka.
var aclRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| `(?:metadata\\.source=quorum|offsets\\.source=kafka)` \\| [^|]+ \\| (Cluster|Topic) `([^`]+)` \\| ([A-Z_]+) \\|")

// The KafkaUser has the ACLs of docs/permissions.md, and no others.
func TestKafkaUser(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "permissions.md"))
	require.NoError(t, err)
	var want []any
	for _, row := range aclRow.FindAllStringSubmatch(string(page), -1) {
		resource := map[string]any{"type": strings.ToLower(row[1])}
		if row[1] == "Topic" {
			resource["name"], resource["patternType"] = row[2], "literal"
		}
		operation := strings.ReplaceAll(strings.ToLower(row[3]), "_", " ")
		want = append(want, map[string]any{"resource": resource, "operations": []any{camel(operation)}})
	}
	require.Len(t, want, 2)
	objects, err := render(t, `{cluster: prod, source: quorum, kafka: {bootstrap: ["b:9092"], controllers: ["c:9090"]}, kafkaUser: {enabled: true}}`)
	require.NoError(t, err)
	user := one(t, objects, "KafkaUser")
	require.Equal(t, want, user["spec"].(map[string]any)["authorization"].(map[string]any)["acls"])
	require.Equal(t, "prod", user["metadata"].(map[string]any)["labels"].(map[string]any)["strimzi.io/cluster"])
}

// camel is an operation as Strimzi writes it: ClusterAction.
func camel(words string) (out string) {
	for word := range strings.FieldsSeq(words) {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}
