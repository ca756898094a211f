package admin

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// listableResources are the types that can be listed, in Kafka's order.
var listableResources = []kmsg.ConfigResourceType{
	kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
	kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig,
}

// ListConfigResources v0-1 (KafkaApis.handleListConfigResources):
//
//   - v0 lists the subscriptions of client metrics, v1 (KIP-1142) those of the
//     types that are asked for; of all if none is.
//   - Topics and brokers are listed whether they are configured or not, the
//     rest if it is.
func (c *call) listConfigResources(q *kmsg.ListConfigResourcesRequest) *kmsg.ListConfigResourcesResponse {
	r := reply[*kmsg.ListConfigResourcesResponse](q)
	if !c.may(opDescribeConfigs, clusterResource, clusterName) {
		r.ErrorCode = codeClusterAuthorizationFailed
		return r
	}
	types := listableResources
	if c.version == 0 {
		types = []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeClientMetrics}
	}
	for _, t := range q.ResourceTypes {
		if !slices.Contains(listableResources, kmsg.ConfigResourceType(t)) {
			r.ErrorCode = codeUnsupportedVersion
			return r
		}
	}
	for _, t := range types {
		if len(q.ResourceTypes) > 0 && !slices.Contains(q.ResourceTypes, int8(t)) {
			continue
		}
		for _, name := range c.resources(t) {
			r.ConfigResources = append(r.ConfigResources, kmsg.ListConfigResourcesResponseConfigResource{Name: name, Type: int8(t)})
		}
	}
	return r
}

func (c *call) resources(t kmsg.ConfigResourceType) (names []string) {
	switch t {
	case kmsg.ConfigResourceTypeTopic:
		for topic := range c.view.Image.Topics().All() {
			names = append(names, topic.Name())
		}
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		for b := range c.view.Image.Cluster().Brokers() {
			names = append(names, strconv.Itoa(int(b.ID)))
		}
	default:
		for have := range c.view.Image.Configs().All() {
			if have.Type == int8(t) {
				names = append(names, have.Name)
			}
		}
		names = slices.Compact(names)
	}
	return names
}
