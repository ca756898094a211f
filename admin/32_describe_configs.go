package admin

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// DescribeConfigs v1-4 (ConfigHelper.describeConfigs):
//
//   - Topics, brokers, client metrics subscriptions and groups have the dynamic
//     values that are in the metadata log, each with its source. What is not
//     there is a default, or stands in a broker's own file: it is left out, and
//     not guessed at. Levels of a broker's loggers are in its memory alone.
//   - A broker answers for itself and for the defaults of all brokers (the
//     empty name); so does a connection that stands for a broker.
//   - The value of a sensitive configuration is null.
func (c *call) describeConfigs(q *kmsg.DescribeConfigsRequest) *kmsg.DescribeConfigsResponse {
	r := reply[*kmsg.DescribeConfigsResponse](q)
	for i := range q.Resources {
		r.Resources = append(r.Resources, c.describeResource(&q.Resources[i], q))
	}
	return r
}

func (c *call) describeResource(q *kmsg.DescribeConfigsRequestResource, all *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResource {
	r := kmsg.DescribeConfigsResponseResource{ResourceType: q.ResourceType, ResourceName: q.ResourceName, ErrorMessage: new("")}
	if code, message := c.describable(q); code != codeNone {
		r.ErrorCode, r.ErrorMessage = code, &message
		return r
	}
	for _, e := range c.configsOf(q) {
		if q.ConfigNames != nil && !slices.Contains(q.ConfigNames, e.Name) {
			continue
		}
		if !all.IncludeSynonyms {
			e.ConfigSynonyms = nil
		}
		r.Configs = append(r.Configs, e)
	}
	return r
}

// describable says with a code what is wrong with a resource.
func (c *call) describable(q *kmsg.DescribeConfigsRequestResource) (code int16, message string) {
	name := q.ResourceName
	if !slices.Contains(listableResources, q.ResourceType) || q.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
		return codeInvalidRequest, *errorMessage(codeInvalidRequest)
	}
	if code := c.mayDescribeConfigs(q); code != codeNone {
		return code, *errorMessage(code)
	}
	switch q.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if !validTopic(name) {
			return codeInvalidTopic, wrongTopic(name)
		}
		if _, ok := c.view.Image.Topics().ByName(name); !ok {
			return codeUnknownTopicOrPartition, ""
		}
	case kmsg.ConfigResourceTypeBroker:
		return c.describableBroker(name)
	case kmsg.ConfigResourceTypeClientMetrics:
		if name == "" {
			return codeInvalidRequest, "Client metrics subscription name must not be empty"
		}
	case kmsg.ConfigResourceTypeGroupConfig:
		if name == "" {
			return codeInvalidRequest, "Group name must not be empty"
		}
	}
	return codeNone, ""
}

func (c *call) mayDescribeConfigs(q *kmsg.DescribeConfigsRequestResource) (code int16) {
	switch q.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if !c.may(opDescribeConfigs, topicResource, q.ResourceName) {
			return codeTopicAuthorizationFailed
		}
	case kmsg.ConfigResourceTypeGroupConfig:
		if !c.may(opDescribeConfigs, groupResource, q.ResourceName) {
			return codeGroupAuthorizationFailed
		}
	default:
		if !c.may(opDescribeConfigs, clusterResource, clusterName) {
			return codeClusterAuthorizationFailed
		}
	}
	return codeNone
}

func (c *call) describableBroker(name string) (code int16, message string) {
	if name == "" {
		return codeNone, ""
	}
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return codeInvalidRequest, "Broker id must be an integer, but it is: " + name
	case c.broker != kafka.NoNode && kafka.NodeID(id) != c.broker:
		return codeInvalidRequest, fmt.Sprintf("Unexpected broker id, expected %d or empty string, but received %s", c.broker, name)
	}
	return codeNone, ""
}

// configsOf are the dynamic values of a resource. A broker has those of all
// brokers where it has none of its own, a topic and a group those of brokers.
func (c *call) configsOf(q *kmsg.DescribeConfigsRequestResource) (list []kmsg.DescribeConfigsResponseResourceConfig) {
	of := image.ConfigResource{Type: int8(q.ResourceType), Name: q.ResourceName}
	set := map[string]bool{}
	for have := range c.view.Image.Configs().Of(of) {
		set[have.Key] = true
		list = append(list, c.configEntry(of, have.Key))
	}
	for _, name := range c.inherited(q) {
		if !set[name] {
			list = append(list, c.configEntry(of, name))
		}
	}
	if q.ResourceType == kmsg.ConfigResourceTypeGroupConfig && c.o.SyntheticConfigs {
		list = append(list, c.synthetic(q.ResourceName)...)
	}
	return slices.DeleteFunc(list, func(e kmsg.DescribeConfigsResponseResourceConfig) bool { return e.Name == "" })
}

// inherited are the names of configurations that a resource may have from
// brokers.
func (c *call) inherited(q *kmsg.DescribeConfigsRequestResource) (names []string) {
	if q.ResourceType != kmsg.ConfigResourceTypeBroker {
		return configNames[q.ResourceType]
	}
	if q.ResourceName != "" {
		for have := range c.view.Image.Configs().Of(image.ConfigResource{Type: int8(q.ResourceType)}) {
			names = append(names, have.Key)
		}
	}
	return names
}

// configEntry is a configuration with the value that counts, the first of all
// places that have one; an empty one if no place has.
func (c *call) configEntry(of image.ConfigResource, name string) kmsg.DescribeConfigsResponseResourceConfig {
	key := configKey{kmsg.ConfigResourceType(of.Type), name}
	places := c.places(of, key)
	if len(places) == 0 {
		return kmsg.DescribeConfigsResponseResourceConfig{}
	}
	e := kmsg.DescribeConfigsResponseResourceConfig{
		Name: name, Value: &places[0].value, Source: places[0].source, ConfigType: knownConfigs[key].kind, IsSensitive: key.sensitive(),
	}
	for i := range places {
		s := kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: places[i].name, Value: &places[i].raw, Source: places[i].source}
		if e.IsSensitive {
			s.Value = nil
		}
		e.ConfigSynonyms = append(e.ConfigSynonyms, s)
	}
	if e.IsSensitive {
		e.Value = nil
	}
	return e
}

// place is where a value stands: under a name that may be another, and in a
// unit that may be another.
type place struct {
	name, raw, value string
	source           kmsg.ConfigSource
}

// places are where a configuration has a value, the one that counts first.
func (c *call) places(of image.ConfigResource, key configKey) (all []place) {
	look := func(at image.ConfigResource, s synonym) {
		if value, ok := c.view.Image.Configs().Get(at, s.name); ok {
			all = append(all, place{s.name, value, s.times(value), sourceOf(at)})
		}
	}
	look(of, synonym{key.name, 1})
	brokers := image.ConfigResource{Type: int8(kmsg.ConfigResourceTypeBroker)}
	if key.resource == kmsg.ConfigResourceTypeBroker {
		if of.Name != "" {
			look(brokers, synonym{key.name, 1})
		}
		return all
	}
	for _, s := range knownConfigs[key].synonyms {
		if c.broker != kafka.NoNode {
			look(image.ConfigResource{Type: brokers.Type, Name: strconv.Itoa(int(c.broker))}, s)
		}
		look(brokers, s)
	}
	return all
}

func sourceOf(of image.ConfigResource) kmsg.ConfigSource {
	switch kmsg.ConfigResourceType(of.Type) {
	case kmsg.ConfigResourceTypeTopic:
		return kmsg.ConfigSourceDynamicTopicConfig
	case kmsg.ConfigResourceTypeBroker:
		if of.Name == "" {
			return kmsg.ConfigSourceDynamicDefaultBrokerConfig
		}
		return kmsg.ConfigSourceDynamicBrokerConfig
	case kmsg.ConfigResourceTypeClientMetrics:
		return kmsg.ConfigSourceClientMetricsConfig
	}
	return kmsg.ConfigSourceGroupConfig
}
