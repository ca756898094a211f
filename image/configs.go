package image

import (
	"cmp"
	"iter"
)

// ConfigurationsImage is the dynamic configurations. It never changes after
// it is published.
//
// It holds what the log says. A broker from 4.2 on drops names that it does
// not support, so that its own answers may lack some.
type ConfigurationsImage struct {
	entries table[Config]
}

// ConfigResource is what a configuration belongs to. Type is the number of
// Kafka's ConfigResource.Type: 2 topic, 4 broker, 16 client metrics, 32
// group. The default of all brokers has the name "".
type ConfigResource struct {
	Type int8
	Name string
}

// Config is one configured key.
type Config struct {
	ConfigResource
	Key, Value string
}

// TopicConfig is the resource type of topics.
const TopicConfig int8 = 2

func newConfigs() *ConfigurationsImage {
	return &ConfigurationsImage{newTable(func(a, b Config) bool { return compareConfigs(a, b) < 0 })}
}

func compareConfigs(a, b Config) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
}

func (c *ConfigurationsImage) copy() *ConfigurationsImage {
	return &ConfigurationsImage{c.entries.copy()}
}

// Get is the value of a key; false if it is not configured.
func (c *ConfigurationsImage) Get(r ConfigResource, key string) (string, bool) {
	entry, ok := c.entries.get(Config{ConfigResource: r, Key: key})
	return entry.Value, ok
}

// Of yields the keys of a resource in order.
func (c *ConfigurationsImage) Of(r ConfigResource) iter.Seq[Config] {
	return func(yield func(Config) bool) {
		for entry := range c.entries.from(Config{ConfigResource: r}) {
			if entry.ConfigResource != r || !yield(entry) {
				return
			}
		}
	}
}

// All yields every key, ordered by resource.
func (c *ConfigurationsImage) All() iter.Seq[Config] { return c.entries.all() }

// Equal compares every key.
func (c *ConfigurationsImage) Equal(d *ConfigurationsImage) bool {
	return c.entries.equal(d.entries, func(a, b Config) bool { return a == b })
}
