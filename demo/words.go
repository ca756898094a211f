package demo

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// recordText names the record that a cause rests on: the last one of the
// metadata log, and else the first one.
func recordText(list []rebalance.Evidence) string {
	if len(list) == 0 {
		return ""
	}
	e := list[0]
	for _, other := range list {
		if other.Log == rebalance.MetadataLog {
			e = other
		}
	}
	return fmt.Sprintf("%s %d", e.Log, e.Offset)
}

func brokerText(id kafka.NodeID) string {
	if id == kafka.NoNode {
		return "none"
	}
	return fmt.Sprintf("broker %d", id)
}

// staleText says what will make a group rebalance whose coordinator has not
// noticed that its hash is not true any more.
func staleText(g *pipeline.Group) string {
	const most = 2
	var topics []string
	for _, name := range g.Answer.Outdated {
		topics = append(topics, cli.Name(name))
	}
	if len(topics) > most {
		topics = append(topics[:1:1], fmt.Sprintf("%d other topics", len(topics)-1))
	}
	move := "it gets a coordinator"
	if g.Coordinator != kafka.NoNode {
		move = fmt.Sprintf("its coordinator leaves broker %d", g.Coordinator)
	}
	return fmt.Sprintf("will rebalance when a record touches %s, or when %s", list(topics, "or"), move)
}
