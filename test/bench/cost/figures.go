package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kraftside/kraftside/test/bench/process"
)

// figures are those of one sidecar, in bytes where nothing else is said.
type figures struct {
	groups         int
	commits        float64 // a second, each of all partitions of a group's topic
	rebalances     float64 // a second
	peak, resident float64 // memory
	cpu            float64 // share of a core
	read           float64 // a second, from broker and controller
	log            float64 // a second, of __consumer_offsets at the broker
	store          float64 // on disk
	full           float64 // the same with as many rebalances as are kept
	growth         float64 // of the store by a rebalance
	series         int
	spans          float64 // a second
	otlp           float64 // a second
}

// subject is the sidecar that is measured, and where else to look.
type subject struct {
	*process.Sidecar
	store    string   // directory
	kafka    string   // directory of the servers
	servers  []string // their addresses
	receiver *receiver
	load     *load
}

// counters only grow, but for the sizes of directories.
type counters struct {
	at                          time.Time
	usage                       process.Usage
	commits, spans, bytes, read int64
	rebalances                  float64
	series                      int
	storeBytes, logBytes        int64
}

func (s *subject) read(ctx context.Context) (c counters, err error) {
	if c.series, c.rebalances, err = s.metrics(ctx); err != nil {
		return c, err
	}
	if c.storeBytes, err = sizeOf(s.store, func(string) bool { return true }); err != nil {
		return c, err
	}
	if c.logBytes, err = sizeOf(s.kafka, isOffsetsSegment); err != nil {
		return c, err
	}
	c.commits, c.spans, c.bytes = s.load.commits.Load(), s.receiver.spans.Load(), s.receiver.bytes.Load()
	if c.read, err = received(ctx, s.Pid, s.servers); err != nil {
		return c, err
	}
	c.at = time.Now()
	c.usage, err = s.Usage()
	return c, err
}

// metrics are how many series there are at /metrics, and how many rebalances were
// explained.
func (s *subject) metrics(ctx context.Context) (series int, rebalances float64, err error) {
	all, err := s.Get(ctx, "/metrics")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(all)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		series++
		if strings.HasPrefix(line, "kraftside_rebalances_total{") {
			v, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, '}')+1:]), 64)
			if err != nil {
				return 0, 0, fmt.Errorf("/metrics: %q: %w", line, err)
			}
			rebalances += v
		}
	}
	return series, rebalances, nil
}

func isOffsetsSegment(path string) bool {
	return filepath.Ext(path) == ".log" && strings.HasPrefix(filepath.Base(filepath.Dir(path)), "__consumer_offsets-")
}

// sizeOf is that of all files below a directory that are wanted. Files come and go.
func sizeOf(dir string, wanted func(path string) bool) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !wanted(path) {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return ignoreGone(err)
	})
	return total, err
}

func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// measure reads the counters, waits, looking at the memory every second, and reads
// them again.
func (s *subject) measure(ctx context.Context, duration time.Duration) (f figures, err error) {
	before, err := s.read(ctx)
	if err != nil {
		return f, err
	}
	samples := 0
	for ; time.Since(before.at) < duration; samples++ {
		time.Sleep(min(time.Second, duration-time.Since(before.at)))
		u, err := s.Usage()
		if err != nil {
			return f, err
		}
		f.resident += float64(u.Resident)
	}
	f.resident /= float64(max(1, samples))
	after, err := s.read(ctx)
	if err != nil {
		return f, err
	}
	took := after.at.Sub(before.at).Seconds()
	rate := func(from, to int64) float64 { return float64(to-from) / took }
	f.peak, f.store, f.series = float64(after.usage.Peak), float64(after.storeBytes), after.series
	f.commits, f.rebalances = rate(before.commits, after.commits), (after.rebalances-before.rebalances)/took
	f.cpu = rate(int64(before.usage.CPU), int64(after.usage.CPU)) / float64(time.Second)
	f.read, f.log = rate(before.read, after.read), rate(before.logBytes, after.logBytes)
	f.spans, f.otlp = rate(before.spans, after.spans), rate(before.bytes, after.bytes)
	return f, nil
}

const (
	// keptRebalances and keptOfGroup are how many rebalances the store keeps.
	keptRebalances = 10_000
	keptOfGroup    = 50
	fillTimeout    = 5 * time.Minute
)

// fill has the groups rebalance until the store has as many as it keeps, and says how
// large it is then.
func (s *subject) fill(ctx context.Context, f *figures) error {
	before, err := s.read(ctx)
	if err != nil {
		return err
	}
	n := min(keptRebalances, keptOfGroup*len(s.load.groups))
	progress("%d rebalances", n)
	if err := s.load.rebalances(ctx, n); err != nil {
		return err
	}
	for late := time.Now().Add(fillTimeout); ; time.Sleep(time.Second) {
		after, err := s.read(ctx)
		if err != nil {
			return err
		}
		if after.rebalances >= before.rebalances+float64(n) {
			f.full = float64(after.storeBytes)
			f.growth = float64(after.storeBytes-before.storeBytes) / float64(n)
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("%.0f of %d rebalances are explained after %s", after.rebalances-before.rebalances, n, fillTimeout)
		}
	}
}
