// Package process runs the sidecar as its users do, as a process of its own, for the
// programs that measure it: it builds and starts it, waits until it is ready, and
// reads what it takes of the machine, from /proc.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kraftside/kraftside/test/realkafka"
)

// Build compiles the sidecar into dir as `make build` does, and returns its path.
// The working directory must be in the project.
func Build(ctx context.Context, dir string) (binary string, err error) {
	binary = filepath.Join(dir, "kraftside")
	b := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace,beside", "-o", binary, "github.com/kraftside/kraftside/cmd/sidecar")
	b.Stderr = os.Stderr
	if err := b.Run(); err != nil {
		return "", fmt.Errorf("build the sidecar: %w", err)
	}
	return binary, nil
}

// Kafka are the flags that say where brokers and controllers listen.
func Kafka(brokers, controllers []string) []string {
	return []string{"--kafka.bootstrap", strings.Join(brokers, ","), "--metadata.controllers", strings.Join(controllers, ",")}
}

// Sidecar is one that runs. Its methods may be called by several goroutines.
type Sidecar struct {
	Pid   int
	HTTP  string // where it serves HTTP, as HOST:PORT
	Admin string // where it serves Kafka's protocol

	cmd    *exec.Cmd
	client http.Client
	ended  chan struct{} // closed when the process has ended
	err    error         // how; to be read after that
}

// Start starts one with these flags of run, on free ports of loopback. Its log, from
// the level warn on, goes to standard error. It ends with ctx, killed; see Stop.
func Start(ctx context.Context, binary string, flags ...string) (*Sidecar, error) {
	ports, err := realkafka.FreePorts(2)
	if err != nil {
		return nil, err
	}
	s := &Sidecar{HTTP: fmt.Sprintf("127.0.0.1:%d", ports[0]), Admin: fmt.Sprintf("127.0.0.1:%d", ports[1]), ended: make(chan struct{})}
	all := append([]string{"run", "--http.listen", s.HTTP, "--admin.listen", s.Admin, "--log.level", "warn"}, flags...)
	s.cmd = exec.CommandContext(ctx, binary, all...)
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.Pid = s.cmd.Process.Pid
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// Stop ends it as an operator does, waits for that, and fails unless it ended well.
func (s *Sidecar) Stop() error {
	s.client.CloseIdleConnections()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.ended
	return s.err
}

// Await asks for all paths every so often until each of them answers 200. It fails
// after the time given, and if the sidecar ends.
func (s *Sidecar) Await(ctx context.Context, timeout, every time.Duration, paths ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := s.getAll(ctx, paths)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("the sidecar has ended")
		case <-ctx.Done():
			return fmt.Errorf("the sidecar does not answer 200 after %s: %w", timeout, err)
		case <-tick.C:
		}
	}
}

func (s *Sidecar) getAll(ctx context.Context, paths []string) error {
	for _, path := range paths {
		if _, err := s.Get(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// Get is the answer to a request for a path. Any status but 200 is an error.
func (s *Sidecar) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.HTTP+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, body)
	}
	return body, err
}

// GetJSON decodes such an answer into out.
func (s *Sidecar) GetJSON(ctx context.Context, path string, out any) error {
	body, err := s.Get(ctx, path)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}
