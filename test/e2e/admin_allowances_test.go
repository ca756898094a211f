//go:build e2e && unix

package e2e

import (
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// allowances are the differences between a broker's answers and a sidecar's
// that there have to be. docs/admin-differences.md is made of them.
var allowances = []allowance{
	{
		path:   regexp.MustCompile(`^(Brokers|Coordinators)\[.*\]\.(Host|Port)$|^(Host|Port)$`),
		reason: "An address that leads to a sidecar: clients follow it, and would ask brokers otherwise.",
	},
	{
		api: "ApiVersions", path: regexp.MustCompile(`^ApiKeys\[.*\]`),
		reason: "Only what is served is advertised.",
	},
	{
		path:   regexp.MustCompile(`^ControllerID$`),
		reason: "A broker names any that is alive, another one each time. The sidecar names the one that is asked.",
	},
	{
		api: "ApiVersions", path: regexp.MustCompile(`^FinalizedFeaturesEpoch$`),
		reason: "Both are the metadata offset as it is then, which goes on by itself.",
		when:   near,
	},
	{
		api: "ApiVersions", path: regexp.MustCompile(`^FinalizedFeatures\[kraft.version\]$`),
		reason: "The version of the quorum is in none of its records.",
		when:   unknownHere,
	},
	{
		api: "DescribeConfigs", path: regexp.MustCompile(`^Resources\[.*\]\.Configs\[.*\]$`),
		reason: "Defaults, and what stands in the broker's own file, are not known.",
		when: func(d difference) bool {
			c, ok := d.broker.(kmsg.DescribeConfigsResponseResourceConfig)
			return ok && unknownHere(d) && static(c.Source)
		},
	},
	{
		api: "DescribeConfigs", path: regexp.MustCompile(`^Resources\[.*\]\.Configs\[.*\]\.ConfigSynonyms\[.*\]$`),
		reason: "The same.",
		when: func(d difference) bool {
			c, ok := d.broker.(kmsg.DescribeConfigsResponseResourceConfigConfigSynonym)
			return ok && unknownHere(d) && static(c.Source)
		},
	},
	{
		api: "DescribeConfigs", path: regexp.MustCompile(`^Resources\[BROKER.*\]\.Configs\[.*\.replication\.throttled\.rate\]\.ReadOnly$`),
		reason:    "Kafka 4.1 says that these cannot be changed, although they can.",
		sometimes: true,
	},
	{
		api: "DescribeQuorum", path: regexp.MustCompile(`^Topics\[.*\]\.Partitions\[.*\]\.Observers\[.*\]$`),
		reason: "Observers are known to the leader alone.",
		when:   unknownHere,
	},
	{
		api: "DescribeQuorum", path: regexp.MustCompile(`^Topics\[.*\]\.Partitions\[.*\]\.CurrentVoters\[.*\]\.(LogEndOffset|LastFetchTimestamp|LastCaughtUpTimestamp|ReplicaDirectoryID)$`),
		reason: "How far a voter is, and which directory is its log's, is known to the leader alone.",
	},
	{
		api: "DescribeQuorum", path: regexp.MustCompile(`^Topics\[.*\]\.Partitions\[.*\]\.HighWatermark$`),
		reason: "It goes on by itself.",
		when:   near,
	},
	{
		api: "StreamsGroupDescribe", path: regexp.MustCompile(`^Groups\[.*\]\.Topology\.Subtopologies\[.*\]\.(RepartitionSourceTopics|StateChangelogTopics)\[.*\]\.NumPartitions$`),
		reason: "A coordinator that has loaded the group knows no number until a member sends a heartbeat. The sidecar knows the topic.",
		when:   func(d difference) bool { return d.broker == int32(0) }, sometimes: true,
	},
	{
		path:   regexp.MustCompile(`^ErrorMessage$`),
		reason: "A broker that refuses DescribeAcls or ListPartitionReassignments shows its own request in the message.",
		when:   func(d difference) bool { return strings.Contains(show(d.broker), "Request(processor=") }, refused: true,
	},
	{
		api: "DescribeDelegationToken", path: regexp.MustCompile(`^ErrorCode$`),
		reason: "Whether tokens are in use stands in the broker's own file: where there are none, none are listed.",
		when: func(d difference) bool {
			return d.broker == kerr.DelegationTokenAuthDisabled.Code && d.other == int16(0)
		}, refused: true,
	},
	{
		api: "DescribeUserSCRAMCredentials", path: regexp.MustCompile(`^Results\[(#\d+)?\]$`),
		reason: "A broker that refuses repeats the error for each user that was named, without the name.",
		when:   unknownHere, refused: true,
	},
	{
		api: "ListPartitionReassignments", path: regexp.MustCompile(`^Topics\[.*\]$`),
		reason: "A broker that refuses repeats the topics that were named, with nothing in them.",
		when:   unknownHere, refused: true,
	},
}

// unknownHere: the sidecar has no such element.
func unknownHere(d difference) bool { return d.other == missing{} }

// static: the value is a default, or stands in the broker's own file.
func static(s kmsg.ConfigSource) bool {
	return s == kmsg.ConfigSourceDefaultConfig || s == kmsg.ConfigSourceStaticBrokerConfig
}

// near: the sidecar is a few records behind, or ahead.
func near(d difference) bool {
	a, isNumber := d.broker.(int64)
	b, too := d.other.(int64)
	return isNumber && too && max(a-b, b-a) <= 10
}
