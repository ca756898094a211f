package admin

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
)

// ApiVersions v0-5 (KafkaApis.handleApiVersionsRequest):
//
//   - Only what is served is advertised, so that clients do not send what is
//     not.
//   - The finalized features and their epoch are those of the image: the epoch
//     is the metadata offset that answers rest on. The supported features are
//     those of the broker that the connection stands for, or what all brokers
//     support.
//   - A version that is not known is answered in version 0, by the connection.
//   - Features that may be off (level 0) are told from v4 on: older clients took
//     them for mistakes.
//   - From v5 on (KIP-1242) a client may say which node of which cluster it
//     means.
func (c *call) apiVersions(q *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
	r := reply[*kmsg.ApiVersionsResponse](q)
	r.ApiKeys = c.servedKeys()
	features := c.view.Image.Features()
	for _, f := range c.supportedFeatures() {
		if f.Min == 0 && c.version < 4 {
			continue
		}
		r.SupportedFeatures = append(r.SupportedFeatures,
			kmsg.ApiVersionsResponseSupportedFeature{Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max})
	}
	r.FinalizedFeaturesEpoch = int64(c.view.Metadata.Delivered.Offset) - 1
	for f := range features.All() {
		r.FinalizedFeatures = append(r.FinalizedFeatures,
			kmsg.ApiVersionsResponseFinalizedFeature{Name: f.Name, MinVersionLevel: f.Level, MaxVersionLevel: f.Level})
	}
	return r
}

func (s *Server) servedKeys() (keys []kmsg.ApiVersionsResponseApiKey) {
	for _, key := range slices.Sorted(maps.Keys(s.served)) {
		a := s.served[key]
		keys = append(keys, kmsg.ApiVersionsResponseApiKey{ApiKey: a.key, MinVersion: a.min, MaxVersion: a.max})
	}
	return keys
}

// supportedFeatures are those of the connection's broker, or the ranges that
// all brokers have in common.
func (c *call) supportedFeatures() (features []image.SupportedFeature) {
	if b, ok := c.view.Image.Cluster().Broker(c.broker); ok {
		return b.Features
	}
	first := true
	for b := range c.aliveBrokers() {
		if first {
			features, first = slices.Clone(b.Features), false
			continue
		}
		features = commonFeatures(features, b.Features)
	}
	return features
}

// commonFeatures narrows the ranges of a list to those of another, and leaves
// out what the other has not.
func commonFeatures(list, other []image.SupportedFeature) []image.SupportedFeature {
	var common []image.SupportedFeature
	for _, f := range list {
		i := slices.IndexFunc(other, func(o image.SupportedFeature) bool { return o.Name == f.Name })
		if i < 0 {
			continue
		}
		f.Min, f.Max = max(f.Min, other[i].Min), min(f.Max, other[i].Max)
		if f.Min <= f.Max {
			common = append(common, f)
		}
	}
	return common
}
