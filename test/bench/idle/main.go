// Command idle measures what a sidecar costs beside an idle cluster of three
// controllers and three brokers, with the defaults of run: its memory, and its
// processor time as a share of one core. It is built as `make build` does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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
	binary := filepath.Join(dir, "kraftside")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-o", binary, "github.com/kraftside/kraftside/cmd/sidecar")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the sidecar: %w", err)
	}
	servers := filepath.Join(dir, "kafka")
	if err := os.Mkdir(servers, 0o755); err != nil {
		return err
	}
	cluster, err := realkafka.Run(servers, realkafka.Config{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	sidecar := exec.CommandContext(ctx, binary, "run",
		"--kafka.bootstrap", strings.Join(cluster.Bootstrap(), ","),
		"--metadata.controllers", strings.Join(cluster.ControllerBootstrap(), ","),
		"--http.listen", "127.0.0.1:0", "--admin.listen", "127.0.0.1:0", "--store.dir", filepath.Join(dir, "store"))
	sidecar.Stderr = os.Stderr
	if err := sidecar.Start(); err != nil {
		return err
	}
	defer func() {
		_ = sidecar.Process.Signal(os.Interrupt)
		_ = sidecar.Wait() // it was told to end
	}()
	return watch(sidecar.Process.Pid, wait)
}

// watch prints the figures of a process every minute, and at the end.
func watch(pid int, wait time.Duration) error {
	start := time.Now()
	before, _, err := usage(pid)
	for err == nil && time.Since(start) < wait {
		time.Sleep(min(time.Minute, wait-time.Since(start)))
		var cpu time.Duration
		var rss int64
		if cpu, rss, err = usage(pid); err == nil {
			share := 100 * float64(cpu-before) / float64(time.Since(start))
			fmt.Printf("after %s: %.1f MB resident, %.2f%% of a core\n", time.Since(start).Round(time.Second), float64(rss)/1e6, share)
		}
	}
	return err
}

// ticksPerSecond is the unit of /proc, which is the same on every Linux that Go
// runs on.
const ticksPerSecond = 100

// usage is the processor time and the resident bytes of a process.
func usage(pid int) (cpu time.Duration, rss int64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var n [3]int64
	for i, at := range []int{11, 12, 21} { // utime, stime, rss in pages
		if n[i], err = strconv.ParseInt(f[at], 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(n[0]+n[1]) * time.Second / ticksPerSecond, n[2] * int64(os.Getpagesize()), nil
}
