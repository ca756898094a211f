package admin

import "github.com/twmb/franz-go/pkg/kmsg"

// api is one API that is served, in the versions from min to max. The lists of
// versions are those of Kafka 4.0 to 4.4.
type api struct {
	key, min, max int16
	// answer returns nil for a request that a broker does not answer but by
	// ending the connection.
	answer func(*call, kmsg.Request) kmsg.Response
}

// newAPIs lists every API that is served, by key.
func newAPIs() map[int16]api {
	return byKey(
		serve(0, 13, (*call).metadata),
		serve(1, 10, (*call).offsetFetch),
		serve(0, 6, (*call).findCoordinator),
		serve(0, 6, (*call).describeGroups),
		serve(0, 5, (*call).listGroups),
		serve(1, 1, (*call).saslHandshake),
		serve(0, 5, (*call).apiVersions),
		serve(1, 3, (*call).describeACLs),
		serve(1, 4, (*call).describeConfigs),
		serve(0, 2, (*call).saslAuthenticate),
		serve(1, 3, (*call).describeDelegationToken),
		serve(0, 0, (*call).listPartitionReassignments),
		serve(0, 1, (*call).describeClientQuotas),
		serve(0, 0, (*call).describeUserScramCredentials),
		serve(0, 2, (*call).describeQuorum),
		serve(0, 2, (*call).describeCluster),
		serve(0, 1, (*call).consumerGroupDescribe),
		serve(0, 1, (*call).listConfigResources),
		serve(0, 0, (*call).describeTopicPartitions),
		serve(0, 1, (*call).shareGroupDescribe),
		serve(0, 1, (*call).streamsGroupDescribe),
	)
}

// serve makes an api of a method that answers it.
func serve[Q kmsg.Request, R kmsg.Response](from, to int16, answer func(*call, Q) R) api {
	var request Q
	return api{request.Key(), from, to, func(c *call, q kmsg.Request) kmsg.Response {
		if r := answer(c, q.(Q)); any(r) != any(*new(R)) {
			return r
		}
		return nil
	}}
}

func byKey(list ...api) map[int16]api {
	m := make(map[int16]api, len(list))
	for _, a := range list {
		m[a.key] = a
	}
	return m
}

// reply is the empty response to a request, in its version.
func reply[R kmsg.Response](q kmsg.Request) R { return q.ResponseKind().(R) }
