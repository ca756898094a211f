//go:build e2e && unix

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/test/jvm"
)

// program is kraftside itself, built for a test.
type program struct {
	path string
	env  []string // besides that of the test
}

func build(t *testing.T) program {
	p := program{path: filepath.Join(t.TempDir(), "kraftside")}
	cmd := exec.CommandContext(within(t), "go", "build", "-o", p.path, "../../cmd/sidecar")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return p
}

// child is a run of `kraftside run`.
type child struct {
	cmd  *exec.Cmd
	log  string
	done chan error
}

// with is the program with more variables in its environment.
func (p program) with(env ...string) program {
	p.env = append(slices.Clone(p.env), env...)
	return p
}

// run starts a sidecar of scope all behind a proxy, with its store in dir.
func (p program) run(t *testing.T, proxy *proxy, dir string, args ...string) *child {
	return p.start(t, proxy.controllers, proxy.bootstrap, dir, args...)
}

// start starts a sidecar of scope all, with its store in dir.
func (p program) start(t *testing.T, controllers, bootstrap []string, dir string, args ...string) *child {
	c := &child{log: filepath.Join(t.TempDir(), "log"), done: make(chan error, 1)}
	log, err := os.Create(c.log)
	require.NoError(t, err)
	defer log.Close()
	c.cmd = exec.Command(p.path, append([]string{
		"run", "--metadata.source", "quorum", "--metadata.controllers", strings.Join(controllers, ","),
		"--kafka.bootstrap", strings.Join(bootstrap, ","), "--store.dir", dir, "--http.listen", "127.0.0.1:0", "--admin.listen=",
	}, args...)...)
	c.cmd.Stderr = log
	// What OpenTelemetry is to do here, the test says.
	c.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") })
	c.cmd.Env = append(c.cmd.Env, p.env...)
	jvm.DieWithParent(c.cmd)
	require.NoError(t, c.cmd.Start())
	go func() { c.done <- c.cmd.Wait() }()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the sidecar:\n%s", c.said())
		}
		_ = c.cmd.Process.Kill() // if it was not ended before
	})
	return c
}

func (c *child) said() string {
	b, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// address is where it listens, by what it logs.
func (c *child) address() (string, error) {
	_, after, ok := strings.Cut(c.said(), "msg=listening address=")
	if !ok {
		return "", errors.New("it does not listen yet")
	}
	at, _, _ := strings.Cut(after, "\n")
	return at, nil
}

// kill is kill -9.
func (c *child) kill(t *testing.T) {
	require.NoError(t, c.cmd.Process.Kill(), "it ended by itself:\n%s", c.said())
	<-c.done
}

// stop is SIGTERM, after which it ends with 0.
func (c *child) stop(t *testing.T) {
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-c.done:
		require.NoError(t, err, c.said())
	case <-time.After(patience):
		require.Fail(t, "it does not end", c.said())
	}
}

// files returns the size of each file of a kind in the store's database.
func files(dir, extension string) map[string]int64 {
	sizes := map[string]int64{}
	// The directory may not be there yet, and files go while they are listed.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != extension {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sizes[path] = info.Size()
		}
		return nil
	})
	return sizes
}

// grows waits until a file of a kind is new or larger than it was.
func grows(t *testing.T, dir, extension string, within time.Duration) bool {
	return changes(t, dir, extension, within, func(old, size int64, known bool) bool { return !known || size > old })
}

// appears waits until there is a new file of a kind.
func appears(t *testing.T, dir, extension string, within time.Duration) bool {
	return changes(t, dir, extension, within, func(_, _ int64, known bool) bool { return !known })
}

func changes(t *testing.T, dir, extension string, within time.Duration, changed func(old, size int64, known bool) bool) bool {
	before := files(dir, extension)
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		for path, size := range files(dir, extension) {
			if old, known := before[path]; changed(old, size, known) {
				return true
			}
		}
		pause(t, 200*time.Microsecond)
	}
	return false
}

// copyStore copies a store that nobody has open.
func copyStore(t testing.TB, dir string) string {
	to := filepath.Join(t.TempDir(), "store")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)), fmt.Sprint("copy ", dir))
	return to
}
