//go:build e2e && unix

package e2e

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/test/jvm"
)

// tool is a command line of one of Kafka's own tools.
type tool struct {
	class string // below org.apache.kafka.tools
	args  string
	// refused is what it says where the sidecar does not serve what it needs;
	// empty: it says what it says of the cluster.
	refused string
	// compared matches, unless it is nil, what is compared of each line.
	compared *regexp.Regexp
	// inAnyOrder: the words of a line are in another order each time.
	inAnyOrder bool
}

// Defaults, and what stands in a broker's own file, come after a setting, as
// its synonyms.
var (
	settings = regexp.MustCompile(`^(.* sensitive=\w+|[^=]*)`)
	quorum   = regexp.MustCompile(`^(ClusterId|LeaderId|LeaderEpoch):.*`)
	ids      = regexp.MustCompile(`^(ID|\d+)\s.*`)
	nodes    = regexp.MustCompile(`\(id: \d+ .*`)
)

func kafkaTools() []tool {
	return []tool{
		{class: "TopicCommand", args: "--list"},
		{class: "TopicCommand", args: "--describe", inAnyOrder: true},
		{class: "TopicCommand", args: "--describe --topics-with-overrides --exclude-internal", inAnyOrder: true},
		{class: "GroupsCommand", args: "--list"},
		{class: "consumer.group.ConsumerGroupCommand", args: "--list --state"},
		{class: "consumer.group.ConsumerGroupCommand", args: "--describe --all-groups --state"},
		{class: "consumer.group.ConsumerGroupCommand", args: "--describe --all-groups --members --verbose"},
		{class: "consumer.group.ConsumerGroupCommand", args: "--describe --group consumer --offsets", refused: "The node does not support LIST_OFFSETS"},
		{class: "consumer.group.ShareGroupCommand", args: "--list --state"},
		{class: "consumer.group.ShareGroupCommand", args: "--describe --group share --state"},
		{class: "consumer.group.ShareGroupCommand", args: "--describe --group share --members"},
		{class: "consumer.group.ShareGroupCommand", args: "--describe --group share --offsets", refused: "The node does not support DESCRIBE_SHARE_GROUP_OFFSETS"},
		{class: "streams.StreamsGroupCommand", args: "--list"},
		{class: "streams.StreamsGroupCommand", args: "--describe --group streams --state"},
		{class: "streams.StreamsGroupCommand", args: "--describe --group streams --members"},
		{class: "ConfigCommand", args: "--describe --entity-type topics", compared: settings},
		{class: "ConfigCommand", args: "--describe --entity-type brokers", compared: settings},
		{class: "ConfigCommand", args: "--describe --entity-type brokers --entity-default", compared: settings},
		{class: "ConfigCommand", args: "--describe --entity-type groups --entity-name consumer", compared: settings},
		{class: "ConfigCommand", args: "--describe --entity-type client-metrics", compared: settings},
		{class: "ConfigCommand", args: "--describe --entity-type users", inAnyOrder: true},
		{class: "AclCommand", args: "--list"},
		{class: "MetadataQuorumCommand", args: "describe --status", compared: quorum},
		{class: "ClusterTool", args: "cluster-id"},
		{class: "ClusterTool", args: "list-endpoints", compared: ids},
		{class: "BrokerApiVersionsCommand", compared: nodes},
	}
}

// compareTools runs Kafka's own tools against the cluster and what is at an
// address, two at a time.
func (s *adminStage) compareTools(t *testing.T, address string) {
	classPath, err := jvm.ClassPath(t.Context(), s.Version())
	require.NoError(t, err)
	places, running := make(chan struct{}, 2), sync.WaitGroup{}
	for _, one := range kafkaTools() {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			got := one.run(t, classPath, address)
			if one.refused != "" {
				assert.Contains(t, got, one.refused, "%s %s", one.class, one.args)
				return
			}
			want := one.run(t, classPath, strings.Join(s.Bootstrap(), ","))
			assert.NotEmpty(t, want, "%s %s: what the cluster says", one.class, one.args)
			assert.Equal(t, want, got, "%s %s", one.class, one.args)
		})
	}
	running.Wait()
}

// run returns the lines that a tool prints, sorted, without addresses.
func (c tool) run(t *testing.T, classPath, address string) string {
	args := append([]string{"--bootstrap-server", address}, strings.Fields(c.args)...)
	if c.class == "ClusterTool" { // whose options come after what it shall do
		args = append(strings.Fields(c.args), "--bootstrap-server", address)
	}
	java := []string{"-cp", classPath, "-XX:TieredStopAtLevel=1", "-Xmx128m", "org.apache.kafka.tools." + c.class}
	cmd := exec.CommandContext(within(t), "java", append(java, args...)...)
	jvm.DieWithParent(cmd)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil && c.refused == "" {
		assert.NoError(t, err, "%s %s: %s%s", c.class, c.args, out.String(), failed.String())
	}
	text := out.String()
	if c.refused != "" {
		text += failed.String()
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = hostPort.ReplaceAllString(line, "HOST")
		if c.compared != nil {
			line = c.compared.FindString(line)
		}
		words := strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || c.inAnyOrder && r == ',' })
		if c.inAnyOrder {
			slices.Sort(words)
		}
		line = strings.Join(words, " ")
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// hostPort is an address, also in columns of their own.
var hostPort = regexp.MustCompile(`127\.0\.0\.\d+[: ]+\d+|127\.0\.0\.\d+`)
