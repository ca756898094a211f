package admin

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Types of endpoints that DescribeCluster tells apart.
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// DescribeCluster v0-2 (KafkaApis.handleDescribeCluster):
//
//   - Addresses and controller are as in Metadata.
//   - The endpoints of controllers are told by controllers alone: a broker, and
//     so a sidecar, answers MISMATCHED_ENDPOINT_TYPE.
//   - From v2 on fenced brokers are listed, too, if they are asked for.
func (c *call) describeCluster(q *kmsg.DescribeClusterRequest) *kmsg.DescribeClusterResponse {
	r := reply[*kmsg.DescribeClusterResponse](q)
	r.EndpointType = brokerEndpoints
	r.ClusterAuthorizedOperations = notRequested
	if code, message := wrongEndpoint(q.EndpointType); code != codeNone {
		r.ErrorCode, r.ErrorMessage = code, &message
		return r
	}
	r.ClusterID = c.o.ClusterID()
	r.ControllerID = int32(c.controller())
	r.ClusterAuthorizedOperations = c.clusterOperations(q.IncludeClusterAuthorizedOperations)
	for b := range c.view.Image.Cluster().Brokers() {
		if b.Fenced && !q.IncludeFencedBrokers {
			continue
		}
		host, port := c.address(b.ID)
		r.Brokers = append(r.Brokers,
			kmsg.DescribeClusterResponseBroker{NodeID: int32(b.ID), Host: host, Port: port, Rack: b.Rack, IsFenced: b.Fenced})
	}
	return r
}

func wrongEndpoint(kind int8) (code int16, message string) {
	switch kind {
	case brokerEndpoints:
		return codeNone, ""
	case controllerEndpoints:
		return codeMismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
	}
	return codeUnsupportedEndpointType, fmt.Sprintf("Unsupported endpoint type %d", kind)
}
