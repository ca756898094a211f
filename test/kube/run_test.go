//go:build kube

package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kraftside/kraftside/test/realkafka"
)

// binary is the program as it is deployed.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kraftside-binary-")
	if err != nil {
		return "", err
	}
	atExit = append(atExit, func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "kraftside")
	cmd := exec.Command("go", "build", "-C", "../..", "-tags", "grpcnotrace,beside", "-o", path, "./cmd/sidecar")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
})

// scene is a sidecar beside a real broker, started with what the API server made of
// the broker's pod.
type scene struct {
	t         *testing.T
	cluster   *realkafka.Cluster
	values    map[string]any
	pod       *corev1.Pod
	volumes   map[string]string
	httpPort  int
	adminPort int
	log       lockedBuffer
	cmd       *exec.Cmd
}

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newScene has the broker's pod with the broker's log directory as its volume.
func newScene(t *testing.T, cluster *realkafka.Cluster, source string) *scene {
	ports, err := realkafka.FreePorts(2)
	require.NoError(t, err)
	s := &scene{t: t, cluster: cluster, httpPort: ports[0], adminPort: ports[1]}
	s.values = map[string]any{
		"flavour": "custom", "source": source, "injection": map[string]any{"enabled": true},
		"custom": map[string]any{"labels": map[string]any{"app": "kafka"}, "container": "broker", "dataPrefix": "/data"},
		"ports":  map[string]any{"http": ports[0], "admin": ports[1]},
		"kafka":  map[string]any{"bootstrap": cluster.Bootstrap(), "controllers": cluster.ControllerBootstrap()},
	}
	s.pod = brokerPod(t, "custom")
	s.pod.Name = "kafka-1"
	s.pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(os.Getuid()))}
	s.volumes = map[string]string{"logs": cluster.LogDir(1)}
	return s
}

// start starts the container that the API server puts into the pod.
func (s *scene) start() {
	s.t.Helper()
	p := server(s.t)
	ns := p.namespace(s.t, nil)
	raw, err := yaml.Marshal(s.values)
	require.NoError(s.t, err)
	p.install(s.t, ns, string(raw))
	s.pod.Namespace = ns
	pod := p.admit(s.t, s.pod)
	c, _ := injected(s.t, pod)
	program, err := binary()
	require.NoError(s.t, err)
	s.cmd, err = p.newContainer(s.t, pod, c, program, s.volumes).command()
	require.NoError(s.t, err)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	require.NoError(s.t, s.cmd.Start())
	s.t.Cleanup(s.stop)
}

// stop ends the container, which has to have run until then.
func (s *scene) stop() {
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM), "it has ended by itself")
	require.NoError(s.t, s.cmd.Wait(), s.log.String())
	if s.t.Failed() {
		s.t.Log(s.log.String())
	}
}

// get is the answer to a request over HTTP, in one line if it is JSON.
func (s *scene) get(path string) (status int, body string) {
	r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", s.httpPort, path))
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	var compact bytes.Buffer
	if json.Compact(&compact, b) != nil {
		return r.StatusCode, string(b)
	}
	return r.StatusCode, compact.String()
}

// await waits for an answer.
func (s *scene) await(path string, status int, contains string) {
	s.t.Helper()
	begin := time.Now()
	var code int
	var body string
	if !assert.Eventually(s.t, func() bool {
		code, body = s.get(path)
		return code == status && strings.Contains(body, contains)
	}, time.Minute, 100*time.Millisecond) {
		require.FailNow(s.t, "it says something else", "%s has to say %d and %q; it says %d %s", path, status, contains, code, body)
	}
	s.t.Logf("%s after %v: %d %s", path, time.Since(begin).Round(100*time.Millisecond), code, body)
}

// awaitLog waits for a line of the log.
func (s *scene) awaitLog(contains string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return strings.Contains(s.log.String(), contains) }, time.Minute, 100*time.Millisecond,
		"the log has to say %q", contains)
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, contains) {
			s.t.Logf("log: %s", strings.TrimSpace(line))
			return
		}
	}
}

// kafka is a small cluster for all scenes. It soon has a snapshot of its metadata, and
// not the log before it: Kafka looks once a minute what it may delete.
var kafka = sync.OnceValues(func() (*realkafka.Cluster, error) {
	dir, err := os.MkdirTemp("", "kraftside-kafka-")
	if err != nil {
		return nil, err
	}
	c, err := realkafka.Run(dir, realkafka.Config{Controllers: 1, Brokers: 1, Properties: map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "5000",
		"metadata.max.retention.bytes":                    "5000",
		"internal.metadata.log.segment.bytes":             "5000",
		"internal.metadata.delete.delay.millis":           "500",
	}})
	if err == nil {
		atExit = append(atExit, func() { _ = c.Close(); _ = os.RemoveAll(dir) })
	}
	return c, err
})

func startKafka(t *testing.T) *realkafka.Cluster {
	t.Helper()
	c, err := kafka()
	require.NoError(t, err)
	return c
}

// With what the API server returned, the program becomes ready beside a real broker,
// follows it, and answers on both its ports: from the broker's disk, with the
// broker's UID and no credential, and from the quorum, with any UID.
func TestRuns(t *testing.T) {
	cluster := startKafka(t)
	for _, source := range []string{"dir", "quorum"} {
		t.Run(source, func(t *testing.T) {
			s := newScene(t, cluster, source)
			if source == "quorum" {
				s.pod.Spec.Containers[0].SecurityContext = nil
			}
			s.start()
			s.await("/readyz", http.StatusOK, `"ready":true`)
			topic := "made-while-" + source
			_, err := cluster.Admin().CreateTopic(t.Context(), 2, 1, nil, topic)
			require.NoError(t, err)
			s.await("/v1/topics/"+topic, http.StatusOK, topic)
			client, err := kgo.NewClient(kgo.SeedBrokers(fmt.Sprintf("127.0.0.1:%d", s.adminPort)))
			require.NoError(t, err)
			defer client.Close()
			topics, err := kadm.NewClient(client).ListTopics(t.Context())
			require.NoError(t, err)
			require.True(t, topics.Has(topic))
		})
	}
}

// In a pod that is made for the first time the container starts before its broker has
// formatted the disk. It finds out beside which broker it is all the same.
func TestRunsBeforeItsBroker(t *testing.T) {
	cluster := startKafka(t)
	s := newScene(t, cluster, "dir")
	disk := t.TempDir()
	s.volumes["logs"] = disk
	s.start()
	s.await("/readyz", http.StatusServiceUnavailable, "metadata")
	for _, name := range []string{"meta.properties", "replication-offset-checkpoint", "__cluster_metadata-0"} { // partitions have large files
		out, err := exec.Command("cp", "-a", "--sparse=always", filepath.Join(cluster.LogDir(1), name), disk).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	s.await("/v1/status", http.StatusOK, `"nodeId":1`)
}

// What is wrong with a pod is told, and ends nothing.
func TestWrong(t *testing.T) {
	cluster := startKafka(t)
	t.Run("configuration", func(t *testing.T) {
		s := newScene(t, cluster, "dir")
		s.values["config"] = map[string]any{"store": map[string]any{"max-bites": "1GiB"}}
		s.start()
		s.awaitLog("max-bites")
		s.await("/readyz", http.StatusServiceUnavailable, "store.max-bites")
		s.await("/healthz", http.StatusOK, "true")
	})
	t.Run("no Kafka", func(t *testing.T) {
		s := newScene(t, cluster, "quorum")
		ports, err := realkafka.FreePorts(1)
		require.NoError(t, err)
		away := []string{fmt.Sprintf("127.0.0.1:%d", ports[0])}
		s.values["kafka"] = map[string]any{"bootstrap": away, "controllers": away}
		s.start()
		s.await("/readyz", http.StatusServiceUnavailable, "connection refused")
		s.await("/healthz", http.StatusOK, "true")
	})
	t.Run("volume", func(t *testing.T) {
		s := newScene(t, cluster, "quorum")
		s.pod.Spec.Containers[0].SecurityContext.RunAsUser = new(int64(1001))
		state := t.TempDir() // of this user alone
		require.NoError(t, os.Chmod(state, 0o755))
		s.volumes["kraftside-state"] = state
		s.start()
		s.await("/readyz", http.StatusServiceUnavailable, "permission denied: /var/lib/kraftside has mode 0755 and is not writable for UID 1001")
	})
	t.Run("port", func(t *testing.T) {
		s := newScene(t, cluster, "quorum")
		taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.adminPort))
		require.NoError(t, err)
		s.start()
		s.await("/readyz", http.StatusServiceUnavailable, "address already in use")
		require.NoError(t, taken.Close())
		s.await("/readyz", http.StatusOK, `"ready":true`)
	})
	t.Run("port of HTTP", func(t *testing.T) {
		s := newScene(t, cluster, "quorum")
		taken, err := net.Listen("tcp", fmt.Sprintf(":%d", s.httpPort))
		require.NoError(t, err)
		s.start()
		s.awaitLog("address already in use")
		require.NoError(t, taken.Close())
		s.await("/readyz", http.StatusOK, `"ready":true`)
	})
}

// With another UID than the broker's the program says which file it cannot read, whose
// it is, and as whom it runs.
func TestRunsAsAnother(t *testing.T) {
	cluster := startKafka(t)
	n := 0
	require.Eventually(t, func() bool {
		n++
		_, err := cluster.Admin().CreateTopic(t.Context(), 10, 1, nil, fmt.Sprint("topic-", n))
		require.NoError(t, err)
		_, err = os.Stat(filepath.Join(cluster.MetadataDir(1), "00000000000000000000.log"))
		return errors.Is(err, fs.ErrNotExist)
	}, 3*time.Minute, 500*time.Millisecond, "the broker has its metadata log from the start")
	s := newScene(t, cluster, "dir")
	s.pod.Spec.Containers[0].SecurityContext.RunAsUser = new(int64(1001))
	s.start()
	s.await("/readyz", http.StatusServiceUnavailable, fmt.Sprintf("permission denied: it belongs to UID %d with mode 0400; run kraftside as that UID (it is 1001)", os.Getuid()))
}
