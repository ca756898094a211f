package admin

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/metadatalog/record"
)

// configsTable is every configuration of Kafka 4.4 with its type, made by
// test/jvm: what it belongs to, its name, its type, and the configurations of a
// broker that stand in for it where it is not set, as NAME=FACTOR.
//
//go:embed configs.tsv
var configsTable string

// knownConfig is what is known of a configuration by its name.
type knownConfig struct {
	kind     kmsg.ConfigType
	synonyms []synonym
}

// synonym is a configuration of a broker whose value, times the factor, is that
// of a topic or a group which has none of its own.
type synonym struct {
	name   string
	factor int64
}

type configKey struct {
	resource kmsg.ConfigResourceType
	name     string
}

var knownConfigs, configNames = parseConfigs(configsTable)

var configOwners = map[string]kmsg.ConfigResourceType{
	"topic": kmsg.ConfigResourceTypeTopic, "broker": kmsg.ConfigResourceTypeBroker,
	"group": kmsg.ConfigResourceTypeGroupConfig, "client-metrics": kmsg.ConfigResourceTypeClientMetrics,
}

// parseConfigs reads the table, and the names in its order.
func parseConfigs(table string) (map[configKey]knownConfig, map[kmsg.ConfigResourceType][]string) {
	known, names := map[configKey]knownConfig{}, map[kmsg.ConfigResourceType][]string{}
	for line := range strings.Lines(table) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		key := configKey{configOwners[fields[0]], fields[1]}
		kind, err := kmsg.ParseConfigType(fields[2])
		if err != nil {
			panic(err) // a test parses the table
		}
		c := knownConfig{kind: kind}
		for _, text := range fields[3:] {
			name, number, _ := strings.Cut(text, "=")
			factor, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				panic(err) // likewise
			}
			c.synonyms = append(c.synonyms, synonym{name, factor})
		}
		known[key] = c
		names[key.resource] = append(names[key.resource], key.name)
	}
	return known, names
}

// sensitive says whether the value of a configuration is not told: by its type,
// by its name, or because it is a plugin's, whose type is not known
// (KafkaConfig.maybeSensitive).
func (k configKey) sensitive() bool {
	known, ok := knownConfigs[k]
	if !ok {
		return k.resource == kmsg.ConfigResourceTypeBroker || record.SensitiveConfig(k.name)
	}
	return known.kind == kmsg.ConfigTypePassword || record.SensitiveConfig(k.name)
}

// times is a value in the unit of what it stands in for.
func (s synonym) times(value string) string {
	if s.factor == 1 {
		return value
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 { // -1 means without limit in any unit
		return value
	}
	return strconv.FormatInt(n*s.factor, 10)
}
