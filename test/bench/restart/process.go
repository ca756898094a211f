package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// readyTimeout is beyond what filling the store of a large cluster takes.
	readyTimeout = 10 * time.Minute
	// pollInterval is how exactly the moment is known, and seldom enough to
	// take nothing from the sidecar.
	pollInterval = 2 * time.Millisecond
)

// sidecar is the program, and where it is started again and again.
type sidecar struct {
	binary, store, listen string
	client                http.Client
}

// build compiles the program into dir, and finds it a port.
func build(ctx context.Context, dir string) (*sidecar, error) {
	s := &sidecar{binary: filepath.Join(dir, "kraftside"), store: filepath.Join(dir, "store")}
	b := exec.CommandContext(ctx, "go", "build", "-o", s.binary, "github.com/kraftside/kraftside/cmd/sidecar")
	b.Stderr = os.Stderr
	if err := b.Run(); err != nil {
		return nil, fmt.Errorf("build the sidecar: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.listen = l.Addr().String()
	return s, l.Close()
}

// start starts a process. The context that it returns ends when the process
// does. stop ends it as an operator does, and fails if it does not end well.
func (s *sidecar) start(ctx context.Context, c *cluster) (alive context.Context, stop func() error, err error) {
	process := exec.CommandContext(ctx, s.binary, "run", "--log.level", "warn",
		"--kafka.bootstrap", strings.Join(c.brokers.ListenAddrs(), ","),
		"--metadata.controllers", strings.Join(c.addresses, ","),
		"--http.listen", s.listen, "--admin.listen", "127.0.0.1:0", "--store.dir", s.store)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		return nil, nil, err
	}
	alive, end := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- process.Wait()
		end(errors.New("the sidecar has ended"))
	}()
	return alive, func() error {
		s.client.CloseIdleConnections()
		return errors.Join(process.Process.Signal(os.Interrupt), <-ended)
	}, nil
}

// await returns when /readyz answers 200 and the topic is there. Ready alone
// would not do: so is a sidecar that lacks only what is not older than a few
// seconds.
func (s *sidecar) await(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := s.get(ctx, "/readyz", nil)
		if err == nil {
			err = s.get(ctx, "/v1/topics/"+url.PathEscape(topic), nil)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// get decodes an answer into out, if that is not nil. Any status but 200 is an
// error.
func (s *sidecar) get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.listen+path, nil)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %s", path, resp.Status, body)
	case out == nil:
		return nil
	}
	return json.Unmarshal(body, out)
}

// holds fails unless the sidecar has that many topics, with all partitions.
func (s *sidecar) holds(ctx context.Context, want int) error {
	topics, partitions := 0, 0
	for after, more := "", true; more; more = after != "" {
		var page struct {
			Topics []struct{ Partitions []struct{} }
			Next   string
		}
		if err := s.get(ctx, "/v1/topics?limit=1000&after="+url.QueryEscape(after), &page); err != nil {
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
