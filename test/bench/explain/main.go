// Command explain measures what it costs to explain rebalances: the CPU time of
// replaying the same logs with and without it.
//
//	go run ./test/bench/explain [-records 1000000] [-runs 5]
//
// It writes segments of a partition of __consumer_offsets, the same in every
// run: 150 groups of 2 to 1,000 members, one in five of them classic, that
// commit offsets, rebalance, and come and go; at the start what compaction has
// left of their time before. Beside it stands the metadata log with their
// topics, to which partitions are added. Mixes differ in how much is of groups:
//
//	usual    every member commits every five seconds, and every group
//	         rebalances every ten minutes
//	busy     every three minutes
//	storm    every half minute
//	commits  never
//	groups   nobody commits anything
//
// Both logs are replayed by the pipeline of the sidecar, without a store, from
// the files to the views, in the order of the offline commands. Without
// explaining, the same pipeline believes that it has read the partition before,
// as after its store has stopped: its records are replayed, and not shown to
// what explains. What follows the metadata log for later explanations works in
// both. Replays with and without take turns, in one process on one core.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

func main() {
	records := flag.Int("records", 1_000_000, "how many records of __consumer_offsets are replayed")
	runs := flag.Int("runs", 5, "how often each mix is replayed with, and without, explaining")
	flag.Parse()
	runtime.GOMAXPROCS(1) // else the collector uses cores that are idle, and that counts
	for _, m := range mixes(*records) {
		if err := measure(context.Background(), m, max(1, *runs)); err != nil {
			fmt.Fprintln(os.Stderr, "explain:", err)
			os.Exit(1)
		}
	}
}

func mixes(records int) []mix {
	m := mix{records: records, groups: 150, largest: 1000}
	var all []mix
	for _, kind := range []struct {
		name     string
		ofGroups float64
	}{{"usual", 0.003}, {"busy", 0.01}, {"storm", 0.05}, {"commits", 0}, {"groups", 1}} {
		m.name, m.ofGroups = kind.name, kind.ofGroups
		if m.ofGroups == 1 {
			m.records = records / 4 // or there are more rebalances than are kept
		}
		all = append(all, m)
	}
	return all
}

// measure prints the figures of a mix.
func measure(ctx context.Context, m mix, runs int) error {
	dir, err := os.MkdirTemp("", "kraftside-explain-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := write(dir, m); err != nil {
		return fmt.Errorf("write the logs: %w", err)
	}
	var with, without []replayed
	for n := range runs {
		for _, explain := range []bool{n%2 == 0, n%2 != 0} {
			r, err := replay(ctx, dir, explain)
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			if explain {
				with = append(with, r)
			} else {
				without = append(without, r)
			}
		}
	}
	fmt.Printf("%s: %d records, %d rebalances, %d of them explained\n", m.name, with[0].records, with[0].rebalances, with[0].explained)
	a, b := show("with", with), show("without", without)
	fmt.Printf("  %+.1f %% by the medians\n", 100*(float64(a)/float64(b)-1))
	return nil
}

// show prints the median and the spread, and returns the median.
func show(what string, all []replayed) time.Duration {
	slices.SortFunc(all, func(a, b replayed) int { return cmp.Compare(a.cpu, b.cpu) })
	median := all[len(all)/2].cpu
	fmt.Printf("  %-8s %5d ms (%d to %d), %.2f million records a second\n", what, median.Milliseconds(),
		all[0].cpu.Milliseconds(), all[len(all)-1].cpu.Milliseconds(), float64(all[0].records)/median.Seconds()/1e6)
	return median
}
