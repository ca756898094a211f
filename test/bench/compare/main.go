// Command compare measures the metadata image side by side with Kafka's own, on
// the same snapshot files and in one run: cold loads in turn, each in a process
// of its own, then everything else. Only the ratios are worth quoting.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/test/jvm"
)

const (
	heap     = "-Xmx6g"
	program  = "ImageBenchmark"
	snapshot = "00000000001000000000-0000000007.checkpoint"
)

// shapes are the files: arguments of ImageBenchmark after the directory.
var shapes = []struct {
	name string
	args []string
}{
	{"plain", nil},
	{"lived-in", []string{"lived-in"}},
}

func main() {
	size := flag.String("size", "100000,10,300", "topics, partitions of each, brokers")
	cold := flag.Int("cold", 5, "how many processes of each side load cold")
	runs := flag.Int("runs", 5, "how often each is measured in the last process")
	flag.Parse()
	ctx := context.Background()
	if err := compare(ctx, strings.Split(*size, ","), *cold, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, size []string, cold, runs int) error {
	bench, clean, err := buildBench(ctx)
	if err != nil {
		return err
	}
	defer clean()
	for _, shape := range shapes {
		dir, err := generate(ctx, size, shape.name, shape.args)
		if err != nil {
			return err
		}
		c := comparison{bench: bench, dir: dir}
		if err := c.run(ctx, cold, runs); err != nil {
			return err
		}
		c.print(shape.name)
	}
	return nil
}

func buildBench(ctx context.Context) (path string, clean func(), err error) {
	dir, err := os.MkdirTemp("", "kraftside-bench-")
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "bench")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/kraftside/kraftside/test/bench")
	build.Stderr = os.Stderr
	return path, func() { os.RemoveAll(dir) }, build.Run()
}

// generate makes a snapshot file with Kafka's own writer, once.
func generate(ctx context.Context, size []string, name string, args []string) (string, error) {
	key := "bench-" + strings.Join(size, "x") + "-" + name
	return jvm.Cached(key, func(dir string) error {
		fmt.Fprintln(os.Stderr, "making the snapshot file", key)
		_, err := runJVM(ctx, append(append([]string{"gen", dir}, size...), args...)...)
		return err
	})
}

func runJVM(ctx context.Context, args ...string) ([]byte, error) {
	c, err := jvm.Command(ctx, jvm.Newest, program, []string{heap}, args...)
	if err != nil {
		return nil, err
	}
	c.Stderr = os.Stderr
	return c.Output()
}

// comparison is of one file.
type comparison struct {
	bench, dir         string
	jvmCold, ownCold   []float64
	jvm                map[string][]float64 // name to values in their order
	jvmXor             string
	own                map[string]any
	peakRSS, ownAllocs float64
}

func (c *comparison) run(ctx context.Context, cold, runs int) error {
	for range cold {
		out, err := runJVM(ctx, "load", c.dir, "1")
		if err != nil {
			return err
		}
		c.read(out)
		c.jvmCold = append(c.jvmCold, c.jvm["load"][0])
		if err := c.runOwn(ctx, "-cold"); err != nil {
			return err
		}
		c.ownCold = append(c.ownCold, c.number("coldLoadMs"))
		c.peakRSS, c.ownAllocs = max(c.peakRSS, c.number("peakRssBytes")), c.number("allocsPerRecord")
	}
	out, err := runJVM(ctx, "load", c.dir, strconv.Itoa(runs+1)) // the first one is cold
	if err != nil {
		return err
	}
	c.read(out)
	return c.runOwn(ctx, "-runs", strconv.Itoa(runs))
}

// read reads what the JVM side printed.
func (c *comparison) read(out []byte) {
	c.jvm = map[string][]float64{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 3 {
			continue
		}
		if f[0] == "topic-hash-xor" {
			c.jvmXor = f[1]
		} else if v, err := strconv.ParseFloat(f[1], 64); err == nil {
			c.jvm[f[0]] = append(c.jvm[f[0]], v)
		}
	}
}

func (c *comparison) runOwn(ctx context.Context, args ...string) error {
	own := exec.CommandContext(ctx, c.bench, append(args, "-json", "-snapshot", filepath.Join(c.dir, snapshot))...)
	own.Stderr = os.Stderr
	out, err := own.Output()
	if err != nil {
		return err
	}
	c.own = nil
	return json.Unmarshal(out, &c.own)
}

func (c *comparison) number(name string) float64 {
	n, _ := c.own[name].(float64)
	return n
}

func (c *comparison) print(shape string) {
	warm := median(c.jvm["load"][1:])
	fmt.Printf("%s file, %.0f records, %.0f MB\n", shape, c.number("records"), c.number("bytes")/1e6)
	row := func(what string, jvm, own float64, unit string) {
		fmt.Printf("  %-34s JVM %9.2f   kraftside %9.2f %-3s  %6.1fx\n", what, jvm, own, unit, jvm/own)
	}
	row("cold load, median of processes", median(c.jvmCold), median(c.ownCold), "ms")
	row("warm load, median", warm, c.number("loadMs"), "ms")
	row("live heap of the image", c.jvm["heap"][0], c.number("heapBytes")/1e6, "MB")
	row("outage, replay and apply, median", median(c.jvm["outage"]), c.number("outageApplyMs"), "ms")
	row("one partition change, best", c.jvm["change"][0], c.number("singleChangeNs")/1e3, "us")
	row("topic hash of all topics, median", median(c.jvm["topic-hash"]), c.number("hashNsPerTopic")/1e3, "us")
	fmt.Printf("  peak RSS of a cold load %.1f MB, %.3f allocations a record, one change leaves %.0f bytes\n",
		c.peakRSS/1e6, c.ownAllocs, c.number("singleChangeBytes"))
	fmt.Printf("  %.0f changes that follow each other: %.2f us each, heap after them %.1f MB\n",
		c.number("changes"), c.number("changeNs")/1e3, c.number("heapAfterChangesBytes")/1e6)
	fmt.Printf("  store: write %.0f ms, %.1f MB, open %.0f ms\n", c.number("storeWriteMs"), c.number("storeBytes")/1e6, c.number("storeOpenMs"))
	fmt.Printf("  hashes agree: %t; records come back the same: %v\n", c.jvmXor == c.own["hashXor"], c.own["recordsComeBackSame"])
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
