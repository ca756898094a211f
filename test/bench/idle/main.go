// Command idle measures what a sidecar costs beside an idle cluster of three
// controllers and three brokers, with the defaults of run: its memory, and its
// processor time as a share of one core. It is built as `make build` does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kraftside/kraftside/test/bench/process"
	"github.com/kraftside/kraftside/test/realkafka"
)

func main() {
	wait := flag.Duration("for", 5*time.Minute, "how long the cluster is idle")
	flag.Parse()
	if err := measure(context.Background(), *wait); err != nil {
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, wait time.Duration) error {
	dir, err := os.MkdirTemp("", "kraftside-idle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := process.Build(ctx, dir)
	if err != nil {
		return err
	}
	cluster, err := realkafka.Run(filepath.Join(dir, "kafka"), realkafka.Config{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	flags := process.Kafka(cluster.Bootstrap(), cluster.ControllerBootstrap())
	sidecar, err := process.Start(ctx, binary, append(flags, "--store.dir", filepath.Join(dir, "store"))...)
	if err != nil {
		return err
	}
	return errors.Join(watch(sidecar, wait), sidecar.Stop())
}

// watch prints the figures of a sidecar every minute, and at the end.
func watch(sidecar *process.Sidecar, wait time.Duration) error {
	start := time.Now()
	before, err := sidecar.Usage()
	for err == nil && time.Since(start) < wait {
		time.Sleep(min(time.Minute, wait-time.Since(start)))
		var now process.Usage
		if now, err = sidecar.Usage(); err == nil {
			share := 100 * float64(now.CPU-before.CPU) / float64(time.Since(start))
			fmt.Printf("after %s: %.1f MB resident, %.2f%% of a core\n", time.Since(start).Round(time.Second), float64(now.Resident)/1e6, share)
		}
	}
	return err
}
