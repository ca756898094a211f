package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of /proc, which is the same on every Linux that Go
// runs on.
const ticksPerSecond = 100

// Usage is what a process has taken of the machine.
type Usage struct {
	CPU      time.Duration // processor time so far
	Resident int64         // bytes of memory now
	Peak     int64         // bytes of memory at most so far
}

// Usage is that of the sidecar until now.
func (s *Sidecar) Usage() (u Usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Pid))
	if err != nil {
		return u, err
	}
	// The name of the program, which may hold anything, is in parentheses.
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return u, err
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	if err != nil {
		return u, err
	}
	u.CPU = time.Duration(user+system) * time.Second / ticksPerSecond
	status, err := s.status()
	if err != nil {
		return u, err
	}
	u.Resident, u.Peak = status["VmRSS"]*1024, status["VmHWM"]*1024
	return u, nil
}

// status are the numbers of the process's status, each with its name.
func (s *Sidecar) status() (map[string]int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Pid))
	if err != nil {
		return nil, err
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(content)) {
		key, rest, _ := strings.Cut(line, ":")
		if fields := strings.Fields(rest); len(fields) > 0 {
			if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
				values[key] = n
			}
		}
	}
	return values, nil
}
