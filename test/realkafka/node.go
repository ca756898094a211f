//go:build unix

package realkafka

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kraftside/kraftside/test/jvm"
)

const (
	roleController = "controller"
	roleBroker     = "broker"
	roleTraining   = "training"

	plainListener             = "PLAINTEXT"
	controllerListener        = "CONTROLLER"
	securedListener           = "SECURED"
	securedControllerListener = "SECURED_CONTROLLER"
	plainMap                  = plainListener + ":PLAINTEXT," + controllerListener + ":PLAINTEXT"

	// stopTimeout bounds a graceful stop: a broker hands its leaderships over first.
	stopTimeout = 60 * time.Second
	tailLines   = 25
	maxStartLog = 16 << 20
)

// node is one server: what stays when its process ends and starts again.
type node struct {
	id          int32
	role        string
	rack        string
	dir         string
	directoryID string // controllers only: the identity of the log directory as a voter
	port        int
	securedPort int // 0 without security
	process     *process
	wanted      bool  // started, and neither stopped nor killed by the test
	logStart    int64 // where the log of the current process begins
}

// process is one run of a server.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // set before done closes
}

func (n *node) name() string       { return fmt.Sprintf("%s-%d", n.role, n.id) }
func (n *node) dataDir() string    { return filepath.Join(n.dir, "data") }
func (n *node) logFile() string    { return filepath.Join(n.dir, "server.log") }
func (n *node) configFile() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) address() string    { return fmt.Sprintf("127.0.0.1:%d", n.port) }

func (n *node) securedAddress() string { return fmt.Sprintf("127.0.0.1:%d", n.securedPort) }

func (n *node) listeners() string {
	plain, secured := plainListener, securedListener
	if n.role == roleController {
		plain, secured = controllerListener, securedControllerListener
	}
	l := plain + "://" + n.address()
	if n.securedPort != 0 {
		l += "," + secured + "://" + n.securedAddress()
	}
	return l
}

func (n *node) writeConfig(properties map[string]string) error {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		fmt.Fprintf(&b, "%s=%s\n", k, strings.ReplaceAll(properties[k], `\`, `\\`))
	}
	return os.WriteFile(n.configFile(), []byte(b.String()), 0o600)
}

func (n *node) running() bool {
	if n.process == nil {
		return false
	}
	select {
	case <-n.process.done:
		return false
	default:
		return true
	}
}

// start runs the server; its output is appended to its log file.
func (n *node) start(command []string) error {
	if n.running() {
		return fmt.Errorf("%s is running", n.name())
	}
	out, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if n.logStart, err = out.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, n.dir
	jvm.DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", n.name(), err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	n.process, n.wanted = p, true
	return nil
}

// stop asks the server to end and waits until it has; one that does not end in time is killed, which is an error.
func (n *node) stop() error {
	if !n.running() {
		return fmt.Errorf("%s is not running", n.name())
	}
	n.wanted = false
	if err := n.process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", n.name(), err)
	}
	select {
	case <-n.process.done:
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("%s did not stop within %s\n%s", n.name(), stopTimeout, n.tail()), n.kill())
	}
}

// kill ends the server at once and waits until it has ended. It is no error if the server had ended before.
func (n *node) kill() error {
	if n.process == nil {
		return nil
	}
	n.wanted = false
	err := n.process.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-n.process.done
	return err
}

// started reports whether the current process has said that its start is complete, which a broker does once it is unfenced.
func (n *node) started() (bool, error) {
	f, err := os.Open(n.logFile())
	if err != nil {
		return false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, n.logStart, maxStartLog))
	return bytes.Contains(b, []byte("Kafka Server started")), err
}

// tail returns the errors in the server's log and the end of it.
func (n *node) tail() string {
	b, err := os.ReadFile(n.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	end := max(0, len(lines)-tailLines)
	var out []string
	for _, l := range lines[:end] {
		if len(out) < tailLines && (strings.Contains(l, " ERROR ") || strings.Contains(l, " FATAL ")) {
			out = append(out, l)
		}
	}
	return strings.Join(append(out, lines[end:]...), "\n")
}
