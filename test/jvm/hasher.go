//go:build unix

package jvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Hasher asks a release's own classes for topic and group hashes. Its methods are for one goroutine.
type Hasher struct {
	process *Process
	logFile string
}

// NewHasher starts a Hasher of a release, 4.1 or newer. The caller closes it.
func NewHasher(ctx context.Context, version string) (*Hasher, error) {
	log, err := os.CreateTemp("", "kraftside-hasher-")
	if err != nil {
		return nil, err
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	p, err := StartProcess(ctx, version, "HashOf", log.Name(), []string{"-XX:TieredStopAtLevel=1", "-Xmx64m"})
	if err != nil {
		return nil, errors.Join(err, os.Remove(log.Name()))
	}
	return &Hasher{process: p, logFile: log.Name()}, nil
}

// Close ends the program.
func (h *Hasher) Close() error {
	return errors.Join(h.process.Kill(), os.Remove(h.logFile))
}

// Topic returns the hash of a topic whose partitions, in the order of their ids, have replicas in these racks; nil is a
// replica without one. Names and racks may hold no blank and no comma, and a rack may not be "-" or ".".
func (h *Hasher) Topic(name string, id kafka.TopicID, racks [][]*string) (int64, error) {
	words := []string{"topic", name, id.String()}
	for _, partition := range racks {
		words = append(words, partitionWord(partition))
	}
	return h.ask(words)
}

func partitionWord(racks []*string) string {
	if len(racks) == 0 {
		return "."
	}
	var b strings.Builder
	for i, r := range racks {
		if i > 0 {
			b.WriteByte(',')
		}
		if r == nil {
			b.WriteByte('-')
		} else {
			b.WriteString(*r)
		}
	}
	return b.String()
}

// Group returns the hash of a group that subscribes to topics with these hashes. Topics that do not exist must be left out.
func (h *Hasher) Group(topics map[string]int64) (int64, error) {
	words := []string{"group"}
	for name, hash := range topics {
		words = append(words, fmt.Sprintf("%s=%d", name, hash))
	}
	slices.Sort(words[1:])
	return h.ask(words)
}

func (h *Hasher) ask(words []string) (int64, error) {
	answer, err := h.process.Ask(words...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(answer, 10, 64)
}
