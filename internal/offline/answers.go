package offline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/whatif"
)

// Groups are those that the query selects, by id.
func (f *Files) Groups(ctx context.Context, q ask.Query) (*api.Groups[api.Group], error) {
	return f.groups(f.client.Groups(ctx, q))
}

// Verify are the groups whose verdict is neither match nor none, by id.
func (f *Files) Verify(ctx context.Context) (*api.Groups[api.Group], error) {
	return f.groups(f.client.Verify(ctx))
}

func (f *Files) groups(answer *api.Groups[api.Group], err error) (*api.Groups[api.Group], error) {
	if err == nil {
		answer.Missing = f.lacks
	}
	return answer, err
}

// Whatif is what changes would do to the groups.
func (f *Files) Whatif(ctx context.Context, changes []whatif.Change) (*api.Whatif[api.Prediction], error) {
	answer, err := f.client.Whatif(ctx, changes)
	if err == nil {
		answer.Missing = f.lacks
	}
	return answer, err
}

// Topics are all topics, by name.
func (f *Files) Topics(ctx context.Context) (*api.TopicList[api.Topic], error) {
	answer, err := f.client.Topics(ctx)
	if err == nil {
		answer.Missing = f.lacks
	}
	return answer, err
}

// Topic is one topic.
func (f *Files) Topic(ctx context.Context, name string) (*api.OneTopic, error) {
	answer, err := f.client.Topic(ctx, name)
	if err == nil {
		answer.Missing = f.lacks
	}
	return answer, err
}

// Status is what the files say of the cluster. Whether a sidecar is ready is
// no matter of files.
func (f *Files) Status(ctx context.Context) (*api.Status, error) {
	answer, err := f.client.Status(ctx)
	if err == nil {
		answer.Missing, answer.Ready, answer.Reasons = f.lacks, true, nil
	}
	return answer, err
}

// Group is one group. The error is NotFound only if the partition that it
// would be in was read.
func (f *Files) Group(ctx context.Context, id string) (*api.Group, error) {
	g, err := f.client.Group(ctx, id)
	if err == nil || cli.ExitCode(err) != cli.NotFound {
		return g, err
	}
	return nil, f.absent(id, err)
}

// absent is why a group is not there: there is none, which is err, or the
// partition that it would be in was not read.
func (f *Files) absent(id string, err error) error {
	topic, ok := f.view.Image.Topics().ByName(kafka.OffsetsTopic)
	if !ok || topic.NumPartitions() == 0 {
		return err
	}
	number := groups.PartitionFor(id, int32(topic.NumPartitions()))
	if _, read := f.view.Partition(number); !read {
		return cli.Errorf(cli.Incomplete, "group %s would be in partition %d of %s, which is in no --offsets-dir",
			cli.Name(id), number, kafka.OffsetsTopic)
	}
	return err
}

// Rebalances are those of one group that were selected. Nothing is missing if
// the partition that the group is in was read.
func (f *Files) Rebalances(ctx context.Context, group string, which ask.Rebalances) (*api.Rebalances, error) {
	answer, err := f.client.Rebalances(ctx, group, which)
	if err != nil {
		return nil, f.absent(group, cli.Errorf(cli.NotFound, "no group %q", group))
	}
	answer.Missing = nil
	return answer, nil
}

// AllRebalances are those of all groups that began at a time or later.
func (f *Files) AllRebalances(ctx context.Context, since time.Time) (*api.RebalanceList, error) {
	answer, err := f.client.AllRebalances(ctx, since)
	if err == nil {
		answer.Missing = f.lacks
	}
	return answer, err
}

// Changes are those of the metadata at a time or later, about a topic unless that
// is empty.
func (f *Files) Changes(ctx context.Context, since time.Time, topic string) (*api.ChangeList, error) {
	answer, err := f.client.Changes(ctx, since, topic)
	if err == nil {
		answer.Missing = f.lacks
	}
	return answer, err
}

// lacking are the partitions of __consumer_offsets that were not given, by the
// broker that leads them.
func lacking(v *pipeline.View) []api.Missing {
	topic, ok := v.Image.Topics().ByName(kafka.OffsetsTopic)
	if !ok {
		return nil
	}
	partitions := make(map[kafka.NodeID][]int32)
	for number, p := range topic.Partitions() {
		if _, read := v.Partition(number); !read {
			partitions[p.Leader] = append(partitions[p.Leader], number)
		}
	}
	var missing []api.Missing
	for leader, numbers := range partitions {
		missing = append(missing, api.Missing{
			Broker: leader, Error: fmt.Sprintf("partitions %v of %s are in no --offsets-dir", numbers, kafka.OffsetsTopic),
		})
	}
	slices.SortFunc(missing, func(a, b api.Missing) int { return cmp.Compare(a.Broker, b.Broker) })
	return missing
}
