package admin

import (
	"slices"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// nodeIDs makes the lists of node ids of one response, many of them in one piece
// of memory: a cluster has hundreds of thousands.
type nodeIDs struct {
	free []int32
	last int // how large the last piece was
}

// maxPiece is how many ids a piece of memory is for at most.
const maxPiece = 4096

// of copies a list.
func (n *nodeIDs) of(list []kafka.NodeID) []int32 {
	if len(n.free) < len(list) {
		n.last = max(len(list), min(2*n.last, maxPiece))
		n.free = make([]int32, n.last)
	}
	out := n.free[:len(list):len(list)]
	n.free = n.free[len(list):]
	for i, id := range list {
		out[i] = int32(id)
	}
	return out
}

// alive are those whose broker clients may use.
func (c *call) alive(list []kafka.NodeID) (there []int32) {
	for _, id := range list {
		if b := c.registered(id); b != nil && !b.Fenced {
			there = append(there, int32(id))
		}
	}
	return there
}

// offlineReplicas are those whose broker is not there or fenced, or whose log
// directory is offline (KRaftMetadataCache.isReplicaOffline).
func (c *call) offlineReplicas(p *image.Partition) (offline []int32) {
	for i, id := range p.Replicas {
		b := c.registered(id)
		if b == nil || b.Fenced || i < len(p.Directories) && !onlineDirectory(b, p.Directories[i]) {
			offline = append(offline, int32(id))
		}
	}
	return offline
}

// onlineDirectory is DirectoryId.isOnline.
func onlineDirectory(b *image.Broker, dir kafka.UUID) bool {
	switch dir {
	case kafka.DirUnassigned, kafka.DirMigrating:
		return true
	case kafka.DirLost:
		return false
	}
	return len(b.LogDirs) == 0 || slices.Contains(b.LogDirs, dir)
}
