package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/kraftside/kraftside/test/bench/process"
)

const (
	// readyTimeout is beyond what filling the store of a large cluster takes.
	readyTimeout = 10 * time.Minute
	// pollInterval is how exactly the moment is known, and seldom enough to
	// take nothing from the sidecar.
	pollInterval = 2 * time.Millisecond
)

// program is the sidecar's, and the store that it is started with again and again.
type program struct{ binary, store string }

func build(ctx context.Context, dir string) (program, error) {
	binary, err := process.Build(ctx, dir)
	return program{binary, filepath.Join(dir, "store")}, err
}

func (p program) start(ctx context.Context, c *cluster) (*process.Sidecar, error) {
	flags := process.Kafka(c.brokers.ListenAddrs(), c.addresses)
	return process.Start(ctx, p.binary, append(flags, "--store.dir", p.store)...)
}

// await returns when /readyz answers 200 and the topic is there. Ready alone
// would not do: so is a sidecar that lacks only what is not older than a few
// seconds.
func await(ctx context.Context, s *process.Sidecar, topic string) error {
	return s.Await(ctx, readyTimeout, pollInterval, "/readyz", "/v1/topics/"+url.PathEscape(topic))
}

// holds fails unless the sidecar has that many topics, with all partitions.
func holds(ctx context.Context, s *process.Sidecar, want int) error {
	topics, partitions := 0, 0
	for after, more := "", true; more; more = after != "" {
		var page struct {
			Topics []struct{ Partitions []struct{} }
			Next   string
		}
		if err := s.GetJSON(ctx, "/v1/topics?limit=1000&after="+url.QueryEscape(after), &page); err != nil {
			return err
		}
		for _, t := range page.Topics {
			partitions += len(t.Partitions)
		}
		topics, after = topics+len(page.Topics), page.Next
	}
	if topics != want || partitions != want*partitionsOfTopic {
		return fmt.Errorf("it has %d topics with %d partitions, of %d topics with %d each", topics, partitions, want, partitionsOfTopic)
	}
	return nil
}
