package answer

import (
	"fmt"
	"strconv"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

// Topics is what `topics` prints.
type Topics struct {
	Topics []api.Topic `json:"topics"`
	Scope
	// Scheme says which hash text shows: Kafka's, or also the KIP's.
	Scheme topichash.Scheme `json:"-"`
}

// Text is a table, a line a topic.
func (a *Topics) Text(t *cli.Text) {
	if len(a.Topics) == 0 {
		t.Printf("no topics\n")
		return
	}
	head := append([]string{"TOPIC", "PARTITIONS"}, a.hashHead()...)
	head = append(head, "GROUPS")
	if t.Wide {
		head = append(head, "CHANGED AT", "ID")
	}
	rows := [][]string{bold(t, head)}
	for i := range a.Topics {
		rows = append(rows, a.row(t, &a.Topics[i]))
	}
	t.Table("", rows)
}

func (a *Topics) hashHead() []string {
	if a.Scheme == topichash.KIP {
		return []string{"HASH", "KIP'S HASH"}
	}
	return []string{"HASH"}
}

func (a *Topics) hashes(h *api.TopicHash) []string {
	if a.Scheme == topichash.KIP {
		return []string{number(h.Kafka), number(h.KIP)}
	}
	return []string{number(h.Kafka)}
}

func (a *Topics) row(t *cli.Text, topic *api.Topic) []string {
	row := append([]string{cli.Name(topic.Name), strconv.Itoa(len(topic.Partitions))}, a.hashes(&topic.Hash)...)
	if !t.Wide {
		return append(row, strconv.Itoa(len(topic.Groups)))
	}
	return append(row, orDash(names(topic.Groups)), changedAt(t, topic.ChangedAt), topic.TopicID.String())
}

func changedAt(t *cli.Text, c *api.ChangedAt) string {
	switch {
	case c == nil:
		return "-"
	case c.Timestamp == nil:
		return "offset " + number(c.Offset)
	}
	return fmt.Sprintf("%s, offset %s", t.Format(int64(*c.Timestamp)), number(c.Offset))
}

// Details is the text of one topic.
func (a *Topics) Details(t *cli.Text) {
	for i := range a.Topics {
		a.details(t, &a.Topics[i])
	}
}

func (a *Topics) details(t *cli.Text, topic *api.Topic) {
	t.Printf("%s   %s   id %s\n\n", t.Bold(cli.Name(topic.Name)), count(len(topic.Partitions), "partition", "partitions"), topic.TopicID)
	rows := [][]string{{"hash", a.hashes(&topic.Hash)[0]}}
	if a.Scheme == topichash.KIP {
		rows = append(rows, []string{"KIP's hash", number(topic.Hash.KIP)})
	}
	rows = append(rows, []string{"groups", orDash(names(topic.Groups))})
	if topic.ChangedAt != nil {
		rows = append(rows, []string{"changed at", "metadata " + changedAt(t, topic.ChangedAt)})
	}
	t.Table("", rows)
	t.Printf("\n")
	t.Table("", partitionRows(t, topic))
}

func partitionRows(t *cli.Text, topic *api.Topic) [][]string {
	head := []string{"PARTITION", "RACKS", "LEADER", "REPLICAS", "ISR"}
	if t.Wide {
		head = append(head, "ELR", "LEADER EPOCH")
	}
	rows := [][]string{bold(t, append(head, ""))}
	for i := range topic.Partitions {
		p := &topic.Partitions[i]
		row := []string{strconv.Itoa(int(p.Partition)), orDash(names(p.Racks)), broker(p.Leader), nodes(p.Replicas), orDash(nodes(p.Isr))}
		if p.Leader == nil {
			row[2] = t.Red("none")
		}
		if t.Wide {
			row = append(row, orDash(nodes(p.Elr)), strconv.Itoa(int(p.LeaderEpoch)))
		}
		rows = append(rows, append(row, reassignment(p)))
	}
	return rows
}

func reassignment(p *api.Partition) string {
	if len(p.Adding) == 0 && len(p.Removing) == 0 {
		return ""
	}
	return fmt.Sprintf("moving: adds %s, removes %s", orDash(nodes(p.Adding)), orDash(nodes(p.Removing)))
}
