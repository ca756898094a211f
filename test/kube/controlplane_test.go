//go:build kube

package kube

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// kubeVersion is that of the tools' module.
const kubeVersion = "v1.37.2"

// programs is the directory of Kubernetes' programs and of Helm 4 (helm) and 3
// (helm3), built once for each version of the tools' module.
func programs() (string, error) {
	sum, err := os.ReadFile("tools/go.sum")
	if err != nil {
		return "", err
	}
	return jvm.Cached("kube-"+jvm.Digest(sum), func(dir string) error {
		if err := build(dir+"/", "go.etcd.io/etcd/server/v3", "k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kube-controller-manager",
			"k8s.io/kubernetes/cmd/kube-scheduler", "helm.sh/helm/v4/cmd/helm"); err != nil {
			return err
		}
		if err := build(filepath.Join(dir, "helm3"), "helm.sh/helm/v3/cmd/helm"); err != nil {
			return err
		}
		return os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd"))
	})
}

// build compiles with the flags of the tests, so that both compile a package once.
func build(to string, packages ...string) error {
	// Helm refuses a cluster whose version it does not know.
	const version = "k8s.io/component-base/version."
	flags := "-s -w -X " + version + "gitVersion=" + kubeVersion + " -X " + version + "gitMajor=1 -X " + version + "gitMinor=37"
	cmd := exec.Command("go", append([]string{"build", "-C", "tools", "-ldflags", flags, "-o", to}, packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %v: %w\n%s", packages, err, out)
	}
	return nil
}

// controlPlane is an API server with etcd, controllers and a scheduler on loopback,
// and a node whose kubelet is this process (see runKubelet).
type controlPlane struct {
	dir, programs string
	url           string
	client        kubernetes.Interface
	objects       dynamic.Interface
	mapper        meta.RESTMapper
	running       []*exec.Cmd
	stopKubelet   context.CancelFunc
}

const adminToken = "admin-token"

// shared is the control plane of all tests, started by the first one.
var shared = sync.OnceValues(func() (*controlPlane, error) {
	dir, err := os.MkdirTemp("", "kraftside-kube-")
	if err != nil {
		return nil, err
	}
	p := &controlPlane{dir: dir}
	atExit = append(atExit, p.stop)
	return p, p.run()
})

// server is a control plane that has come up.
func server(t *testing.T) *controlPlane {
	t.Helper()
	p, err := shared()
	if err != nil && p != nil {
		t.Log(p.logs())
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.logs())
		}
	})
	return p
}

func (p *controlPlane) run() (err error) {
	if p.programs, err = programs(); err != nil {
		return err
	}
	ports, err := realkafka.FreePorts(5)
	if err != nil {
		return err
	}
	p.url = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	if err := errors.Join(p.serviceAccountKey(), p.write("tokens.csv", adminToken+",admin,admin,system:masters\n"), p.write("kubeconfig", p.kubeconfig(adminToken))); err != nil {
		return err
	}
	if err := p.startServer(ports); err != nil {
		return err
	}
	if err := p.startControllers(ports); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stopKubelet = stop
	return runKubelet(ctx, p.client)
}

func (p *controlPlane) startServer(ports []int) error {
	etcd, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := p.start("etcd", "--data-dir", p.path("etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--unsafe-no-fsync"); err != nil {
		return err
	}
	if err := p.start("kube-apiserver", "--etcd-servers", etcd, "--cert-dir", p.path("certs"), "--bind-address", "127.0.0.1",
		"--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(ports[2]), "--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", p.url, "--service-account-key-file", p.path("sa.pub"), "--service-account-signing-key-file", p.path("sa.key"),
		"--token-auth-file", p.path("tokens.csv"), "--authorization-mode", "RBAC", "--disable-admission-plugins", "ServiceAccount",
		"--endpoint-reconciler-type", "none"); err != nil {
		return err
	}
	return p.connect()
}

func (p *controlPlane) startControllers(ports []int) error {
	return errors.Join(
		p.start("kube-controller-manager", "--kubeconfig", p.path("kubeconfig"), "--leader-elect=false", "--bind-address", "127.0.0.1",
			"--secure-port", fmt.Sprint(ports[3]), "--cert-dir", p.path("kcm"), "--use-service-account-credentials=false",
			"--controllers", "statefulset-controller,garbage-collector-controller,namespace-controller,resourcequota-controller"),
		p.start("kube-scheduler", "--kubeconfig", p.path("kubeconfig"), "--leader-elect=false", "--bind-address", "127.0.0.1",
			"--secure-port", fmt.Sprint(ports[4]), "--cert-dir", p.path("scheduler")),
	)
}

// connect waits until the API server answers.
func (p *controlPlane) connect() error {
	config := &rest.Config{Host: p.url, BearerToken: adminToken, QPS: 1000, Burst: 1000, TLSClientConfig: rest.TLSClientConfig{Insecure: true}} // its certificate is its own
	var err error
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if p.objects, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	p.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(p.client.Discovery()))
	for end := time.Now().Add(time.Minute); ; {
		_, err := p.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background())
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the API server does not become ready: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (p *controlPlane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *controlPlane) write(name, content string) error {
	return os.WriteFile(p.path(name), []byte(content), 0o600)
}

// kubeconfig is the file of somebody who has a token.
func (p *controlPlane) kubeconfig(token string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
 clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}],
 users: [{name: u, user: {token: %s}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, p.url, token)
}

func (p *controlPlane) serviceAccountKey() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return errors.Join(
		p.write("sa.key", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))),
		p.write("sa.pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))),
	)
}

// start runs a program until all tests are over.
func (p *controlPlane) start(name string, args ...string) error {
	log, err := os.Create(p.path(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the program has its own
	cmd := exec.Command(filepath.Join(p.programs, name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	jvm.DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.running = append(p.running, cmd)
	return nil
}

// logs are the last lines of all programs.
func (p *controlPlane) logs() string {
	var out strings.Builder
	for _, cmd := range p.running {
		b, _ := os.ReadFile(p.path(filepath.Base(cmd.Path) + ".log")) // what is there
		fmt.Fprintf(&out, "%s:\n%s\n", filepath.Base(cmd.Path), b[max(0, len(b)-2000):])
	}
	return out.String()
}

// stop ends the programs, the API server before etcd.
func (p *controlPlane) stop() {
	if p.stopKubelet != nil {
		p.stopKubelet()
	}
	for _, cmd := range slices.Backward(p.running) {
		_ = cmd.Process.Signal(os.Interrupt)
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was told to end
		timer.Stop()
	}
	_ = os.RemoveAll(p.dir) // it is temporary
}
