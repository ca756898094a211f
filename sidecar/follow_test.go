package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/web/api"
)

// source is a configuration that somebody edits.
type source struct {
	mu  sync.Mutex
	c   *config.Config
	err error
}

func (s *source) set(c *config.Config, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c, s.err = c, err
}

func (s *source) load() (*config.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c, s.err
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// reachable is a configuration that is right, of a Kafka that is away.
func reachable(t *testing.T, listen string) *config.Config {
	c := config.Default()
	c.Kafka.Bootstrap, c.Metadata.Controllers = []string{freeAddress(t)}, []string{freeAddress(t)}
	c.HTTP.Listen, c.Admin.Listen = listen, ""
	return c
}

// readiness is what /readyz says; nil while nobody answers.
func readiness(address string) []api.Reason {
	resp, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var said struct{ Reasons []api.Reason }
	if json.NewDecoder(resp.Body).Decode(&said) != nil {
		return nil
	}
	return said.Reasons
}

func healthy(address string) bool {
	resp, err := http.Get("http://" + address + "/healthz")
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// A process with a configuration that is wrong goes on, says so, and takes over
// what somebody makes of it: also another address.
func TestFollow(t *testing.T) {
	first, second := freeAddress(t), freeAddress(t)
	s := &source{err: errors.New(`"kafka.bootstap" is not known, is "kafka.bootstrap" meant?`)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Follow(ctx, Following{
			Load: s.load, Listen: first, Every: 10 * time.Millisecond, Version: "test",
			Log: func(*config.Config) *slog.Logger { return slog.New(slog.DiscardHandler) },
		})
	}()
	says := func(address, what string) func() bool {
		return func() bool {
			for _, r := range readiness(address) {
				if strings.Contains(r.What, what) {
					return healthy(address)
				}
			}
			return false
		}
	}
	const wait, often = 20 * time.Second, 10 * time.Millisecond
	wrong := `the configuration cannot be used: "kafka.bootstap" is not known, is "kafka.bootstrap" meant?`
	require.Eventually(t, says(first, wrong), wait, often, "a process that never had a configuration")

	noDir := reachable(t, first)
	noDir.Store.Dir = "/dev/null"
	s.set(noDir, nil)
	require.Eventually(t, says(first, "the sidecar cannot start: open the store: "), wait, often, "one that cannot work")

	works := reachable(t, first)
	works.Store.Dir = t.TempDir()
	s.set(works, nil)
	away := "__consumer_offsets" // whatever is said of it
	require.Eventually(t, says(first, away), wait, often, "a configuration that was corrected")

	s.set(nil, errors.New("torn"))
	require.Eventually(t, says(first, "the configuration cannot be used: torn"), wait, often, "one that has become wrong")
	require.Greater(t, len(readiness(first)), 1, "the former one is in effect")

	moved := reachable(t, second)
	moved.Store.Dir = works.Store.Dir + "/." // which only one can open at a time
	s.set(moved, nil)
	require.Eventually(t, says(second, away), wait, often, "another address")
	require.Empty(t, readiness(first))

	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, nil, 0o600))
	for what, change := range map[string]func(*config.Config){
		"http.token-file: open /not/there: ": func(c *config.Config) { c.HTTP.TokenFile = "/not/there" },
		"read " + broken + ": ":              func(c *config.Config) { c.HTTP.TokenFile = broken },
		"admin endpoint: ":                   func(c *config.Config) { c.Admin.TLS.CertFile, c.Admin.TLS.KeyFile = broken, broken },
		"open the store: ":                   func(c *config.Config) { c.Store.Dir = "/dev/null" },
	} {
		changed := reachable(t, first)
		change(changed)
		s.set(changed, nil)
		require.Eventually(t, says(second, "the configuration cannot be used: "+what), wait, often, what)
		require.Greater(t, len(readiness(second)), 1, "the former one is in effect")
	}
	require.NoError(t, os.WriteFile(broken, []byte("secret"), 0o600))
	corrected := reachable(t, first)
	corrected.HTTP.TokenFile = broken
	s.set(corrected, nil)
	require.Eventually(t, says(first, away), wait, often, "what was broken is not any more")

	stop()
	<-ended
	require.Empty(t, readiness(first))
}
