// Command cost measures what one sidecar takes beside a real broker with 100, 1,000
// and 10,000 consumer groups: memory, processor time, what it reads, what its store
// takes, how many series it has at /metrics and how many spans it exports.
//
//	go run ./test/bench/cost [-groups 100,1000,10000] [-for 90s]
//
// For each number of groups a broker and a controller start anew, and the groups
// join. Then a sidecar starts that knows nothing yet, with the defaults of run, a store
// and an OTLP receiver that counts. It follows all groups, since there is one broker.
// While it is measured, every group commits its offsets every few seconds, and a
// member of each leaves and joins again now and then. Nobody asks it anything but
// /metrics, at the beginning and at the end.
//
// Then the groups rebalance as fast as they can, until the store has as many
// rebalances as it keeps: it grows with nothing else but the number of groups.
//
// Figures per hour are those of the time measured, times what an hour has of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/test/bench/process"
	"github.com/kraftside/kraftside/test/realkafka"
)

var (
	counts         = flag.String("groups", "100,1000,10000", "how many groups there are, one measurement each")
	members        = flag.Int("members", 3, "members of each group")
	commitEvery    = flag.Duration("commit-every", 5*time.Second, "how often a group commits its offsets, as consumers do by default")
	rebalanceEvery = flag.Duration("rebalance-every", 30*time.Minute, "how often a member of a group leaves and joins again: two rebalances")
	warmUp         = flag.Duration("warm-up", 20*time.Second, "how long that goes on before it is measured")
	duration       = flag.Duration("for", 90*time.Second, "how long it is measured")
)

func main() {
	flag.Parse()
	if err := measureAll(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// progress tells whoever waits; the table goes to standard output.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func measureAll(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "kraftside-cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := process.Build(ctx, dir)
	if err != nil {
		return err
	}
	var all []figures
	for _, count := range strings.Split(*counts, ",") {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return fmt.Errorf("-groups: %q is no number of groups", count)
		}
		below := filepath.Join(dir, count)
		f, err := beside(ctx, binary, below, n)
		if err != nil {
			return errors.Join(fmt.Errorf("%d groups: %w", n, err), table(all))
		}
		all = append(all, f)
	}
	return table(all)
}

// beside measures one sidecar beside a broker with so many groups.
func beside(ctx context.Context, binary, dir string, n int) (f figures, err error) {
	progress("%d groups: starting Kafka", n)
	cluster, err := realkafka.Run(filepath.Join(dir, "kafka"), realkafka.Config{Controllers: 1, Brokers: 1, JavaOptions: realkafka.AsDeployed("1g"), Properties: map[string]string{
		"offsets.topic.num.partitions": "50",
		// Members are told at once what they are to have, and need not come again.
		"group.consumer.assignment.interval.ms": "0",
		// Members heartbeat when they have something to say alone.
		"group.consumer.max.session.timeout.ms": "3600000",
		"group.consumer.session.timeout.ms":     "3600000",
	}})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...))
	if err != nil {
		return f, err
	}
	defer client.Close()
	l, err := populate(ctx, client, n)
	if err != nil {
		return f, err
	}
	receiver, err := newReceiver()
	if err != nil {
		return f, err
	}
	defer receiver.close()
	store := filepath.Join(dir, "store")
	s, err := process.Start(ctx, binary, append(process.Kafka(cluster.Bootstrap(), cluster.ControllerBootstrap()), "--store.dir", store,
		// The joins of all groups are not what is measured.
		"--telemetry.otlp.endpoint", receiver.url, "--telemetry.otlp.protocol", "http", "--telemetry.otlp.max-age", "10s")...)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := s.Await(ctx, 5*time.Minute, 100*time.Millisecond, "/readyz"); err != nil {
		return f, err
	}
	return underLoad(ctx, &subject{
		Sidecar: s, store: store, kafka: filepath.Join(dir, "kafka"), servers: append(cluster.Bootstrap(), cluster.ControllerBootstrap()...),
		receiver: receiver, load: l,
	})
}

// underLoad measures after a while of load, and then how large the store becomes.
func underLoad(ctx context.Context, s *subject) (f figures, err error) {
	loaded, cancel := context.WithCancel(ctx)
	stopped := s.load.start(loaded)
	progress("warming up for %s", *warmUp)
	time.Sleep(*warmUp)
	progress("measuring for %s", *duration)
	f, err = s.measure(ctx, *duration)
	cancel()
	if err := errors.Join(err, stopped()); err != nil {
		return f, err
	}
	f.groups = len(s.load.groups)
	return f, s.fill(ctx, &f)
}

func table(all []figures) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(f figures) string) {
		fmt.Fprint(w, name, "\t")
		for _, f := range all {
			fmt.Fprint(w, cell(f), "\t")
		}
		fmt.Fprintln(w)
	}
	row("groups", func(f figures) string { return strconv.Itoa(f.groups) })
	row("offset commits/s", func(f figures) string { return fmt.Sprintf("%.0f", f.commits) })
	row("rebalances/h", func(f figures) string { return fmt.Sprintf("%.0f", f.rebalances*3600) })
	row("memory, peak MiB", func(f figures) string { return mebi(f.peak) })
	row("memory, mean MiB", func(f figures) string { return mebi(f.resident) })
	row("% of a core", func(f figures) string { return fmt.Sprintf("%.1f", 100*f.cpu) })
	row("read from Kafka, kB/s", func(f figures) string { return fmt.Sprintf("%.1f", f.read/1e3) })
	row("its log grows, kB/s", func(f figures) string { return fmt.Sprintf("%.1f", f.log/1e3) })
	row("store, MiB", func(f figures) string { return mebi(f.store) })
	row("store with all it keeps, MiB", func(f figures) string { return mebi(f.full) })
	row("until then it grows, MiB/h", func(f figures) string { return mebi(f.growth * f.rebalances * 3600) })
	row("series", func(f figures) string { return strconv.Itoa(f.series) })
	row("spans a rebalance", func(f figures) string { return fmt.Sprintf("%.1f", f.spans/f.rebalances) })
	row("spans/h", func(f figures) string { return fmt.Sprintf("%.0f", f.spans*3600) })
	row("OTLP, kB/s", func(f figures) string { return fmt.Sprintf("%.1f", f.otlp/1e3) })
	return w.Flush()
}

func mebi(bytes float64) string { return fmt.Sprintf("%.1f", bytes/(1<<20)) }
