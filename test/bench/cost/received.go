package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// received is how many bytes a process has received so far on its open connections to
// these addresses. The kernel counts them for each connection, and ss, of iproute2,
// prints that: /proc has no such number for one process.
func received(ctx context.Context, pid int, from []string) (total int64, err error) {
	out, err := exec.CommandContext(ctx, "ss", "--tcp", "--info", "--numeric", "--processes", "--no-header", "--oneline", "state", "established").Output()
	if err != nil {
		return 0, fmt.Errorf("run ss, which is part of iproute2: %w", err)
	}
	process := fmt.Sprintf("pid=%d,", pid)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		// With a state asked for, the columns are the queues, both addresses, the
		// processes and the rest.
		if len(fields) < 5 || !slices.Contains(from, fields[3]) || !strings.Contains(fields[4], process) {
			continue
		}
		for _, f := range fields[5:] {
			if value, found := strings.CutPrefix(f, "bytes_received:"); found {
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return 0, fmt.Errorf("ss says %q: %w", f, err)
				}
				total += n
			}
		}
	}
	return total, nil
}
