package main

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/whatif"
)

func whatifCommand(out *cli.Output) *cobra.Command {
	var s source
	plan := &planFlags{}
	c := &cobra.Command{
		Use:     "whatif CHANGE…",
		GroupID: live,
		Short:   "Predict which groups a planned change will rebalance",
		Long: `whatif tells which groups a planned change will rebalance, how often, with which hash they end, and why. Each CHANGE is one of
the flags below; several happen in the order in which they are given. Nothing is changed: the records that the controller
would write are replayed on the image of the cluster as it is.

A change has steps, and which of them a group sees depends on when its members heartbeat: hence a range, and groups that
rebalance only if a heartbeat falls inside. Others do not notice before something else makes their coordinator look.

Exit code 3 means that some group may rebalance.

` + sourceHelp,
		Example: `  kraftside whatif --reassign plan.json
  kraftside whatif --rack 2=rack-9 --add-partitions orders=12 -o json`,
		Args: takes(0, 0, "its changes as flags"),
		RunE: func(c *cobra.Command, _ []string) error {
			if len(plan.changes) == 0 {
				return cli.Errorf(cli.BadUsage, "whatif: there is no change; give one such as --reassign FILE, see kraftside whatif --help")
			}
			if err := plan.read(); err != nil {
				return err
			}
			a, err := s.openForGroups(out)
			if err != nil {
				return err
			}
			got, err := a.Whatif(c.Context(), plan.changes)
			if err != nil {
				return a.failed(err)
			}
			w := answer.NewWhatif(got, a.files != nil)
			var found error
			if w.Found() {
				found = &cli.Error{Code: cli.Found}
			}
			return a.print(out, w, w.Text, w.Lacking(), found)
		},
	}
	plan.addFlags(c)
	s.addFlags(c)
	return c
}

// planFlags take changes in the order of the command line.
type planFlags struct {
	changes []whatif.Change
	files   map[int]string // that hold the plan of a change
}

func (p *planFlags) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	flag := func(name, kind, usage string, parse func(string) (whatif.Change, error)) {
		f.Var(&changeFlag{plan: p, kind: kind, parse: parse}, name, usage)
	}
	flag("reassign", "FILE", "reassign partitions as this `FILE` says, which is one for kafka-reassign-partitions", p.reassign)
	flag("add-partitions", "T=N", "give topic `T=N` partitions in all", ofTopic(whatif.AddPartitions))
	flag("create-topic", "T=N", "create topic `T=N` with that many partitions", ofTopic(whatif.CreateTopic))
	flag("delete-topic", "T", "delete topic `T`", func(text string) (whatif.Change, error) {
		return whatif.Change{Kind: whatif.DeleteTopic, Topic: text}, nil
	})
	flag("rack", "B=RACK", "restart broker `B=RACK` in that rack; an empty one takes its rack away", parseRack)
	flag("restart-broker", "B", "restart broker `B`", ofBroker(whatif.RestartBroker))
	flag("unregister-broker", "B", "unregister broker `B`, which is stopped if it runs", ofBroker(whatif.UnregisterBroker))
	flag("move-coordinator", "P=B", "make broker B the leader of a partition of __consumer_offsets: `P=B`", parseMove)
	flag("upgrade-from", "RELEASE", "upgrade the brokers from `RELEASE`, which is 4.0", func(text string) (whatif.Change, error) {
		return whatif.Change{Kind: whatif.Upgrade, From: text}, nil
	})
}

// changeFlag implements pflag.Value.
type changeFlag struct {
	plan  *planFlags
	kind  string
	parse func(string) (whatif.Change, error)
}

func (f *changeFlag) String() string { return "" }

// Type is the kind of value, in the help.
func (f *changeFlag) Type() string { return f.kind }

// Set adds a change.
func (f *changeFlag) Set(text string) error {
	change, err := f.parse(text)
	if err == nil {
		f.plan.changes = append(f.plan.changes, change)
	}
	return err
}

// reassign notes a file, which is read when the whole command line was.
func (p *planFlags) reassign(path string) (whatif.Change, error) {
	if p.files == nil {
		p.files = make(map[int]string)
	}
	p.files[len(p.changes)] = path
	return whatif.Change{Kind: whatif.Reassign}, nil
}

// maxPlanFile is more than a sidecar takes.
const maxPlanFile = 64 << 20

// read reads the files, and checks what can be checked without a cluster.
func (p *planFlags) read() error {
	for i, path := range p.files {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return cli.Errorf(cli.NotFound, "whatif: --reassign: %w", err)
		}
		if err != nil {
			return cli.Errorf(cli.BadUsage, "whatif: --reassign: %w", err)
		}
		content, err := io.ReadAll(io.LimitReader(f, maxPlanFile))
		if err == nil {
			_, err = whatif.ParseReassignment(content)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return cli.Errorf(cli.BadUsage, "whatif: --reassign: read %s: %w", path, err)
		}
		p.changes[i].Plan = content
	}
	return nil
}

// ofTopic parses T=N.
func ofTopic(kind whatif.Kind) func(string) (whatif.Change, error) {
	return func(text string) (whatif.Change, error) {
		i := strings.LastIndexByte(text, '=')
		n, err := strconv.ParseInt(text[i+1:], 10, 32)
		if i < 1 || err != nil {
			return whatif.Change{}, errors.New("want a topic and a number of partitions, such as orders=12")
		}
		return whatif.Change{Kind: kind, Topic: text[:i], Partitions: int32(n)}, nil
	}
}

func ofBroker(kind whatif.Kind) func(string) (whatif.Change, error) {
	return func(text string) (whatif.Change, error) {
		id, err := parseID(text)
		return whatif.Change{Kind: kind, Broker: &id}, err
	}
}

func parseRack(text string) (whatif.Change, error) {
	broker, rack, found := strings.Cut(text, "=")
	id, err := parseID(broker)
	if err == nil && !found {
		err = errors.New("want a broker and its rack, such as 2=rack-9")
	}
	return whatif.Change{Kind: whatif.Rack, Broker: &id, Rack: &rack}, err
}

func parseMove(text string) (whatif.Change, error) {
	number, broker, _ := strings.Cut(text, "=")
	partition, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return whatif.Change{}, errors.New("want a partition of __consumer_offsets and a broker, such as 7=2")
	}
	id, err := parseID(broker)
	return whatif.Change{Kind: whatif.MoveCoordinator, Partition: new(int32(partition)), Broker: &id}, err
}

func parseID(text string) (kafka.NodeID, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > math.MaxInt32 {
		return kafka.NoNode, errors.New("want the id of a broker, such as 2")
	}
	return kafka.NodeID(n), nil
}
