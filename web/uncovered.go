package web

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// addUncovered lists as missing, beside the sidecars that did not answer, those
// that answered, but not for all that their broker leads by v's image, as for
// a moment after a coordinator moved: their groups are in nobody's answer.
func (c *client) addUncovered(v *pipeline.View, to *api.Completeness) {
	for broker, partitions := range uncovered(v, to) {
		m := api.Missing{Broker: broker}
		if broker == kafka.NoNode {
			m.Error = fmt.Sprintf("partitions %v of %s have no leader, so that nobody answers for their groups", partitions, kafka.OffsetsTopic)
		} else {
			m.Error = fmt.Sprintf("its sidecar does not answer yet for partitions %v of %s, which the broker leads", partitions, kafka.OffsetsTopic)
		}
		if b, ok := v.Image.Cluster().Broker(broker); ok {
			m.Host, _ = c.hostOf(b) // without one the error says enough
		}
		to.Add(api.Completeness{Missing: []api.Missing{m}})
	}
}

// uncovered are the partitions of __consumer_offsets that an answer is not
// about, by their leader, but for those whose sidecar is missing anyway.
func uncovered(v *pipeline.View, answer *api.Completeness) map[kafka.NodeID][]int32 {
	topic, ok := v.Image.Topics().ByName(kafka.OffsetsTopic)
	if !ok {
		return nil
	}
	silent := make(map[kafka.NodeID]bool)
	for _, m := range answer.Missing {
		silent[m.Broker] = true
	}
	lacking := make(map[kafka.NodeID][]int32)
	for number, p := range topic.Partitions() {
		if _, covered := slices.BinarySearch(answer.OffsetsPartitions, number); !covered && !silent[p.Leader] {
			lacking[p.Leader] = append(lacking[p.Leader], number)
		}
	}
	return lacking
}
