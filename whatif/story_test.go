package whatif_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/webtest"
	"github.com/kraftside/kraftside/whatif"
)

// story is a cluster and the groups on it, as a sidecar has them.
type story struct {
	*webtest.Cluster
	names map[int64]string // of hashes, in the order in which they are shown
}

// The files under testdata tell what one kind of change does. Commands:
//
//	brokers           registers brokers, one a line: id, and rack unless it has none
//	topic ID NAME     makes a topic: "$ID", and a line of replicas for each partition
//	metadata          metadata records, one a line
//	group             makes groups with a member each, one a line: id, type, topics
//	                  or, behind a slash, a regular expression
//	offsets           records of groups, one a line
//	wait seconds=N    lets time pass
//	whatif            changes as JSON, one a line: which groups they bump
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &story{
			Cluster: webtest.New(t, pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All}),
			names:   make(map[int64]string),
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.command(t, d) })
	})
}

func (s *story) command(t *testing.T, d *datadriven.TestData) string {
	lines := strings.Split(d.Input, "\n")
	switch d.Cmd {
	case "brokers":
		s.brokers(lines)
	case "topic":
		s.topic(d.CmdArgs[0].Key, d.CmdArgs[1].Key, lines)
	case "metadata":
		s.Metadata(lines...)
	case "group":
		for _, line := range lines {
			s.group(strings.Fields(line))
		}
	case "offsets":
		for _, line := range lines {
			s.Groups(s.partition(line), line)
		}
	case "wait":
		var n int
		d.ScanArgs(t, "seconds", &n)
		s.Wait(time.Duration(n) * time.Second)
	case "whatif":
		return s.whatif(t, lines)
	default:
		t.Fatalf("%s: no such command %q", d.Pos, d.Cmd)
	}
	return ""
}

func (s *story) brokers(lines []string) {
	var records []string
	for _, line := range lines {
		id, rack, has := strings.Cut(line, " ")
		if has {
			rack = fmt.Sprintf(`"rack":%q,`, rack)
		}
		records = append(records, fmt.Sprintf(`RegisterBrokerRecord {"brokerId":%s,"brokerEpoch":1,"fenced":false,%s"features":[{"name":"metadata.version","minSupportedVersion":7,"maxSupportedVersion":33}]}`, id, rack))
	}
	s.Metadata(records...)
}

func (s *story) topic(id, name string, partitions []string) {
	records := []string{fmt.Sprintf(`TopicRecord {"name":%q,"topicId":"$%s"}`, name, id)}
	for i, replicas := range partitions {
		leader, _, _ := strings.Cut(replicas, ",")
		records = append(records, fmt.Sprintf(`PartitionRecord {"topicId":"$%s","partitionId":%d,"replicas":[%s],"isr":[%[3]s],"leader":%s}`,
			id, i, replicas, leader))
	}
	s.Metadata(records...)
}

// group makes a group whose only member has heartbeated.
func (s *story) group(words []string) {
	id, kind, topics := words[0], words[1], words[2:]
	expression := ""
	if len(topics) > 0 && strings.HasPrefix(topics[0], "/") {
		expression, topics = topics[0][1:], topics[1:]
	}
	list, err := json.Marshal(topics)
	if err != nil {
		panic(err) // never of strings
	}
	hash := fmt.Sprintf(`"$hash %s"`, strings.Join(topics, " "))
	var records []string
	switch kind {
	case "consumer":
		names := string(list)
		if expression != "" {
			names = "[]"
			records = append(records, fmt.Sprintf(`16 {"groupId":%q,"regularExpression":%q} {"topics":%s,"version":1,"timestamp":1}`, id, expression, list))
		}
		records = append(records, fmt.Sprintf(`5 {"groupId":%q,"memberId":"m"} {"clientId":"c","subscribedTopicNames":%s,"subscribedTopicRegex":%q,"classicMemberMetadata":null}`, id, names, expression),
			fmt.Sprintf(`3 {"groupId":%q} {"epoch":2,"metadataHash":%s}`, id, hash),
			fmt.Sprintf(`8 {"groupId":%q,"memberId":"m"} {"memberEpoch":2}`, id))
	case "share":
		records = append(records, fmt.Sprintf(`10 {"groupId":%q,"memberId":"m"} {"subscribedTopicNames":%s}`, id, list),
			fmt.Sprintf(`11 {"groupId":%q} {"epoch":2,"metadataHash":%s}`, id, hash),
			fmt.Sprintf(`14 {"groupId":%q,"memberId":"m"} {"memberEpoch":2}`, id))
	case "streams":
		records = append(records, fmt.Sprintf(`19 {"groupId":%q,"memberId":"m"} {"topologyEpoch":1}`, id),
			fmt.Sprintf(`23 {"groupId":%q} {"epoch":1,"subtopologies":[{"subtopologyId":"0","sourceTopics":%s}]}`, id, list),
			fmt.Sprintf(`17 {"groupId":%q} {"epoch":2,"metadataHash":%s,"validatedTopologyEpoch":1,"lastAssignmentConfigs":[{"key":"num.standby.replicas","value":"0"}]}`, id, hash),
			fmt.Sprintf(`22 {"groupId":%q,"memberId":"m"} {"memberEpoch":2}`, id))
	}
	s.Groups(s.partitionOf(id), records...)
}

func (s *story) partitionOf(group string) int32 {
	topic, _ := s.View().Image.Topics().ByName(kafka.OffsetsTopic)
	return groups.PartitionFor(group, int32(topic.NumPartitions()))
}

func (s *story) partition(line string) int32 {
	_, fields, _ := strings.Cut(line, " ")
	var key struct{ GroupID, Group string }
	if err := json.NewDecoder(strings.NewReader(fields)).Decode(&key); err != nil {
		panic(fmt.Sprintf("%s: %v", line, err))
	}
	return s.partitionOf(key.GroupID + key.Group)
}

func (s *story) whatif(t *testing.T, lines []string) string {
	var changes []whatif.Change
	for _, line := range lines {
		var c whatif.Change
		require.NoError(t, json.Unmarshal([]byte(line), &c), line)
		changes = append(changes, c)
	}
	v := s.View()
	plan, err := whatif.NewPlan(v.Image, changes)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for g := range v.GroupsFrom("") {
		if p, ok := plan.Predict(whatif.Group{Group: g.Group, Partition: g.Partition, Answer: g.Answer}); ok {
			s.write(&b, g, p)
		}
	}
	if b.Len() == 0 {
		return "no group\n"
	}
	return b.String()
}

func (s *story) write(b *strings.Builder, g *pipeline.Group, p *whatif.Prediction) {
	fmt.Fprintf(b, "%s (%s, %s): %s, %d to %d\n", g.ID, g.Type, g.Answer.Verdict, p.Bump, p.Min, p.Max)
	for _, step := range p.Steps {
		fmt.Fprintf(b, "  after %s: %s\n", step.After, s.name(step.Hash))
	}
	fmt.Fprintf(b, "  hash %s -> %s %s\n", s.name(p.Before), s.name(p.After), p.Reason)
	for _, why := range p.Why {
		fmt.Fprintf(b, "  %s\n", why)
	}
}

// name is a short name of a hash, which only other tests can check.
func (s *story) name(hash *int64) string {
	if hash == nil {
		return "?"
	}
	if s.names[*hash] == "" {
		s.names[*hash] = fmt.Sprintf("h%d", len(s.names)+1)
	}
	return s.names[*hash]
}
