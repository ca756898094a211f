// Command admin measures how long a broker and the sidecar beside it take to
// answer what dashboards ask of a large cluster, in turn, and how many requests
// one core of the sidecar answers. It says how TCP controls congestion: with bbr the
// kernel sends by a timer on loopback, too, and a few answers in a hundred wait for
// it with both processors idle, which is the p99 then. In a network of its own,
//
//	unshare -n sh -c 'ip link set lo up; sysctl net.ipv4.tcp_congestion_control=reno; go run ./test/bench/admin'
//
// they are sent as soon as they are read, as with Linux's default, cubic.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/test/bench/process"
	"github.com/kraftside/kraftside/test/realkafka"
)

var (
	topics     = flag.Int("topics", 5000, "topics of the cluster")
	partitions = flag.Int("partitions", 50, "partitions of each")
	groups     = flag.Int("groups", 10_000, "consumer groups")
	runs       = flag.Int("runs", 300, "how often to ask each")
	warmUp     = flag.Duration("warm-up", 15*time.Second, "how long to ask each before that")
)

func main() {
	flag.Parse()
	if err := measure(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "admin:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "kraftside-admin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cluster, err := realkafka.Run(filepath.Join(dir, "kafka"), realkafka.Config{Controllers: 1, Brokers: 1, JavaOptions: realkafka.AsDeployed("2g"), Properties: map[string]string{
		// The brokers that only the controller knows send no more heartbeats.
		"broker.session.timeout.ms":             "3600000",
		"group.consumer.max.session.timeout.ms": "3600000",
		"group.consumer.session.timeout.ms":     "3600000",
	}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := populate(ctx, cluster); err != nil {
		return err
	}
	sidecar, err := startSidecar(ctx, dir, cluster)
	if err != nil {
		return err
	}
	return errors.Join(compare(cluster.Bootstrap()[0], sidecar), sidecar.Stop())
}

// questions are what is asked. A sidecar is asked the same as the broker.
func questions() []kmsg.Request {
	var some []string
	for i := range min(1000, *groups) {
		some = append(some, groupID(i))
	}
	all := []kmsg.Request{kmsg.NewPtrMetadataRequest(), kmsg.NewPtrListGroupsRequest(), &kmsg.ConsumerGroupDescribeRequest{Groups: some}}
	for _, q := range all {
		q.SetVersion(map[int16]int16{3: 13, 16: 5, 69: 1}[q.Key()])
	}
	return all
}

func compare(broker string, sidecar *process.Sidecar) error {
	theirs, err := dial(broker)
	if err != nil {
		return err
	}
	ours, err := dial(sidecar.Admin)
	if err != nil {
		return err
	}
	control, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return err
	}
	fmt.Printf("TCP's congestion control: %s", control)
	for _, q := range questions() {
		for _, c := range []*conn{theirs, ours} {
			if err := warm(c, q); err != nil {
				return err
			}
		}
		var times [2][]time.Duration
		var sizes [2]int
		for run := range *runs {
			for n := range 2 { // each has the other before it in turn, and what that leaves behind
				i := (run + n) % 2
				took, size, err := []*conn{theirs, ours}[i].ask(q)
				if err != nil {
					return err
				}
				times[i], sizes[i] = append(times[i], took), size
			}
		}
		name := kmsg.NameForKey(q.Key())
		fmt.Printf("%-22s broker  %s, %d bytes\n%-22s sidecar %s, %d bytes: median %.1f times, p99 %.1f times as fast\n",
			name, summary(times[0]), sizes[0], "", summary(times[1]), sizes[1],
			ratio(times, 50), ratio(times, 99))
		if err := capacity(ours, q, sidecar); err != nil {
			return err
		}
	}
	return nil
}

// warm asks for a while, until a virtual machine has compiled what it will.
func warm(c *conn, q kmsg.Request) error {
	for end := time.Now().Add(*warmUp); time.Now().Before(end); {
		if _, _, err := c.ask(q); err != nil {
			return err
		}
	}
	return nil
}

func percentile(times []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func summary(times []time.Duration) string {
	return fmt.Sprintf("median %v, p99 %v", percentile(times, 50).Round(10*time.Microsecond), percentile(times, 99).Round(10*time.Microsecond))
}

func ratio(times [2][]time.Duration, p int) float64 {
	return float64(percentile(times[0], p)) / float64(percentile(times[1], p))
}

// capacity asks the sidecar for a few seconds as fast as it answers, and prints
// how many requests a second of its processor time answers.
func capacity(c *conn, q kmsg.Request, sidecar *process.Sidecar) error {
	before, err := sidecar.Usage()
	if err != nil {
		return err
	}
	n := 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); n++ {
		if _, _, err := c.ask(q); err != nil {
			return err
		}
	}
	after, err := sidecar.Usage()
	if err != nil {
		return err
	}
	fmt.Printf("%-22s one core of the sidecar answers %.0f a second\n", "", float64(n)/(after.CPU-before.CPU).Seconds())
	return nil
}

// startSidecar starts one, and waits until it is ready.
func startSidecar(ctx context.Context, dir string, cluster *realkafka.Cluster) (*process.Sidecar, error) {
	binary, err := process.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	sidecar, err := process.Start(ctx, binary, append(process.Kafka(cluster.Bootstrap(), cluster.ControllerBootstrap()),
		"--admin.max-staleness", "1m", "--groups.max-bytes-per-second", "0", "--store.dir", filepath.Join(dir, "store"))...)
	if err != nil {
		return nil, err
	}
	if err := sidecar.Await(ctx, 5*time.Minute, 200*time.Millisecond, "/readyz"); err != nil {
		return nil, errors.Join(err, sidecar.Stop())
	}
	return sidecar, nil
}
