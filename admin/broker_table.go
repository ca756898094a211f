package admin

import (
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// brokerTable finds registrations faster than the image does, since they are
// looked for once for each replica of each partition.
type brokerTable struct {
	low     []*image.Broker // by id
	cluster *image.ClusterImage
}

// lowIDs is how many ids have a place in a table. The others are looked for in
// the image.
const lowIDs = 4096

func newBrokerTable(cluster *image.ClusterImage) *brokerTable {
	t := &brokerTable{cluster: cluster}
	for b := range cluster.Brokers() { // by ascending id
		if b.ID >= lowIDs {
			break
		}
		for len(t.low) <= int(b.ID) {
			t.low = append(t.low, nil)
		}
		t.low[b.ID] = b
	}
	return t
}

// registered is the registration of a broker; nil if there is none.
func (t *brokerTable) registered(id kafka.NodeID) *image.Broker {
	if uint32(id) < lowIDs {
		if int(id) < len(t.low) {
			return t.low[id]
		}
		return nil
	}
	b, _ := t.cluster.Broker(id)
	return b
}
