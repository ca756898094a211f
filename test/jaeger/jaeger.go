//go:build unix

// Package jaeger runs a released Jaeger on loopback ports of its own and asks its query API, so that tests see the traces
// that an engineer would.
//
// The program is built from the Go module proxy, in the module under build, which pins its version and those of all that
// it needs; that takes several minutes once, and the cache of package jvm keeps it by the content of that module. A build
// that fails fails the test.
package jaeger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

const program = "github.com/jaegertracing/jaeger/cmd/jaeger"

// moduleDir is the module that pins Jaeger, from a directory of ours.
func moduleDir() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		build := filepath.Join(dir, "test", "jaeger", "build")
		if _, missing := os.Stat(filepath.Join(build, "go.mod")); missing == nil {
			return build, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no test/jaeger/build above the test")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Binary returns Jaeger's program, which it builds if the cache has none.
func Binary(ctx context.Context) (string, error) {
	module, err := moduleDir()
	if err != nil {
		return "", err
	}
	pinned, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	dir, err := jvm.Cached("jaeger-"+jvm.Digest(pinned), func(dir string) error {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "jaeger"), program)
		build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build Jaeger: %w\n%s", err, out)
		}
		return nil
	})
	return filepath.Join(dir, "jaeger"), err
}

// Server is a Jaeger whose traces outlive its process.
type Server struct {
	// GRPC and HTTP are where it takes OTLP, Query is its query API: URLs.
	GRPC, HTTP, Query string

	tb      testing.TB
	program string
	dir     string
	process *exec.Cmd // nil while it is stopped
}

// New returns a Jaeger that is not started. It is stopped when the test ends.
func New(tb testing.TB) *Server {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	binary, err := Binary(ctx)
	require.NoError(tb, err)
	ports, err := realkafka.FreePorts(3)
	require.NoError(tb, err)
	url := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	s := &Server{GRPC: url(ports[0]), HTTP: url(ports[1]), Query: url(ports[2]), tb: tb, program: binary, dir: tb.TempDir()}
	var b bytes.Buffer
	require.NoError(tb, configuration.Execute(&b, map[string]any{"GRPC": ports[0], "HTTP": ports[1], "Query": ports[2], "Dir": s.dir}))
	require.NoError(tb, os.WriteFile(s.configFile(), b.Bytes(), 0o600))
	tb.Cleanup(s.Stop)
	return s
}

// configuration is Jaeger with all parts in one process, no batching, and its storage on disk.
var configuration = template.Must(template.New("").Parse(`service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [jaeger_storage_exporter]
  telemetry:
    metrics:
      level: none
    logs:
      level: warn
extensions:
  jaeger_storage:
    backends:
      disk:
        badger:
          directories:
            keys: {{.Dir}}/keys
            values: {{.Dir}}/values
          ephemeral: false
          consistency: true
  jaeger_query:
    enable_tracing: false
    storage:
      traces: disk
    http:
      endpoint: 127.0.0.1:{{.Query}}
    grpc:
      endpoint: 127.0.0.1:0
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 127.0.0.1:{{.GRPC}}
      http:
        endpoint: 127.0.0.1:{{.HTTP}}
exporters:
  jaeger_storage_exporter:
    trace_storage: disk
`))

func (s *Server) configFile() string { return filepath.Join(s.dir, "jaeger.yaml") }

func (s *Server) logFile() string { return filepath.Join(s.dir, "jaeger.log") }

// Start starts it, again if it was stopped, and waits until it answers.
func (s *Server) Start() {
	out, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(s.tb, err)
	defer out.Close()
	s.process = exec.Command(s.program, "--config", s.configFile())
	s.process.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") }) // those of the test
	s.process.Stdout, s.process.Stderr, s.process.Dir = out, out, s.dir
	jvm.DieWithParent(s.process)
	require.NoError(s.tb, s.process.Start())
	ready := func() bool {
		answer, err := http.Get(s.Query + "/api/services")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	require.Eventually(s.tb, ready, time.Minute, 100*time.Millisecond, "%s", s)
}

// String is what it logged, for the message of a test.
func (s *Server) String() string {
	text, err := os.ReadFile(s.logFile())
	return fmt.Sprintf("Jaeger at %s (%v):\n%s", s.Query, err, text)
}

// Stop stops it, if it runs. What it has accepted is there when it starts again.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	require.NoError(s.tb, s.process.Process.Signal(syscall.SIGTERM))
	_ = s.process.Wait() // that a signal ended it is no failure
	s.process = nil
}
