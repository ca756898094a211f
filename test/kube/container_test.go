//go:build kube

package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// containerVariable names the file that says what a child of this process is to
// become: a container.
const containerVariable = "KRAFTSIDE_TEST_CONTAINER"

// container is what a runtime makes of a container's spec: a process with a root of
// its own, mounts, a UID without privileges, and exactly the variables of the spec.
type container struct {
	Root          string
	Mounts        []bind
	Env, Args     []string
	UID           int
	ReadOnlyRoot  bool
	program, file string
}

// bind is a directory of this host, or a file, at a path of the container.
type bind struct {
	From, At string
	ReadOnly bool
}

// newContainer resolves a container of a pod as the API server returned it. Volumes
// are directories of this host, by name; others are made of ConfigMaps, Secrets and
// nothing, as their kinds say.
func (p *controlPlane) newContainer(t *testing.T, pod *corev1.Pod, c *corev1.Container, program string, volumes map[string]string) *container {
	t.Helper()
	require.Zero(t, os.Getuid(), "only root may make mount namespaces and become another user")
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	out := &container{
		Root: filepath.Join(dir, "root"), Args: append([]string{"/kraftside"}, c.Args...), UID: uid(t, pod, c),
		ReadOnlyRoot: *c.SecurityContext.ReadOnlyRootFilesystem, program: program, file: filepath.Join(dir, "container.json"),
	}
	require.False(t, *c.SecurityContext.RunAsNonRoot && out.UID == 0, "the kubelet does not start it: runAsNonRoot, and the UID is 0")
	for _, e := range c.Env {
		out.Env = append(out.Env, e.Name+"="+value(t, pod, e))
	}
	for _, m := range c.VolumeMounts {
		from := p.volume(t, pod, m.Name, filepath.Join(dir, m.Name), volumes)
		out.Mounts = append(out.Mounts, bind{filepath.Join(from, m.SubPath), m.MountPath, m.ReadOnly})
	}
	for _, path := range []string{"/proc", "/dev", "/etc/hosts", "/etc/resolv.conf"} { // which runtimes add
		out.Mounts = append(out.Mounts, bind{path, path, path != "/dev"})
	}
	out.layOut(t)
	return out
}

// uid is the user of a container: its own, or its pod's, or that of the image.
func uid(t *testing.T, pod *corev1.Pod, c *corev1.Container) int {
	t.Helper()
	switch {
	case c.SecurityContext.RunAsUser != nil:
		return int(*c.SecurityContext.RunAsUser)
	case pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.RunAsUser != nil:
		return int(*pod.Spec.SecurityContext.RunAsUser)
	}
	return 65532
}

// value is that of a variable.
func value(t *testing.T, pod *corev1.Pod, e corev1.EnvVar) string {
	t.Helper()
	if e.ValueFrom == nil {
		return e.Value
	}
	require.NotNil(t, e.ValueFrom.FieldRef, "%s: only fields of the pod are resolved", e.Name)
	key, isLabel := strings.CutPrefix(e.ValueFrom.FieldRef.FieldPath, "metadata.labels['")
	require.True(t, isLabel, e.ValueFrom.FieldRef.FieldPath)
	return pod.Labels[strings.TrimSuffix(key, "']")]
}

// volume is a directory with what a volume holds.
func (p *controlPlane) volume(t *testing.T, pod *corev1.Pod, name, dir string, given map[string]string) string {
	t.Helper()
	if from, ok := given[name]; ok {
		return from
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name != name {
			continue
		}
		require.NoError(t, os.MkdirAll(dir, 0o755))
		switch {
		case v.ConfigMap != nil:
			p.configMapFiles(t, pod.Namespace, v.ConfigMap, dir)
		case v.EmptyDir != nil:
			require.NoError(t, os.Chmod(dir, 0o777)) // as the kubelet makes it
		default:
			t.Fatalf("volume %s is of a kind that is not resolved", name)
		}
		return dir
	}
	t.Fatalf("the pod has no volume %s", name)
	return ""
}

func (p *controlPlane) configMapFiles(t *testing.T, namespace string, source *corev1.ConfigMapVolumeSource, dir string) {
	t.Helper()
	m, err := p.client.CoreV1().ConfigMaps(namespace).Get(t.Context(), source.Name, metav1.GetOptions{})
	if err != nil && source.Optional != nil && *source.Optional {
		return
	}
	require.NoError(t, err)
	for name, content := range m.Data {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
}

// layOut makes what mounts are mounted on.
func (c *container) layOut(t *testing.T) {
	t.Helper()
	require.NoError(t, os.MkdirAll(c.Root, 0o755))
	program, err := os.ReadFile(c.program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(c.Root, "kraftside"), program, 0o755))
	for _, m := range c.Mounts {
		at := filepath.Join(c.Root, m.At)
		info, err := os.Stat(m.From)
		require.NoError(t, err)
		if info.IsDir() {
			require.NoError(t, os.MkdirAll(at, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, nil, 0o644))
	}
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.file, raw, 0o600))
}

// command is this test's program, which becomes the container in namespaces of its
// own.
func (c *container) command() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{containerVariable + "=" + c.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	return cmd, nil
}

// becomeContainer is what a child does. It returns only if it fails.
func becomeContainer(file string) error {
	runtime.LockOSThread() // privileges are a thread's
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var c container
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	if err := c.mount(); err != nil {
		return err
	}
	if err := errors.Join(unix.Chroot(c.Root), os.Chdir("/"), drop(c.UID)); err != nil {
		return err
	}
	return syscall.Exec(c.Args[0], c.Args, c.Env)
}

func (c *container) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := attach(bind{c.Root, c.Root, c.ReadOnlyRoot}, ""); err != nil {
		return err
	}
	for _, m := range c.Mounts {
		if err := attach(m, c.Root); err != nil {
			return err
		}
	}
	return nil
}

func attach(m bind, root string) error {
	at := filepath.Join(root, m.At)
	if err := unix.Mount(m.From, at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.From, at, err)
	}
	if m.ReadOnly {
		return unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	return nil
}

// drop gives up every capability for good, and becomes another user.
func drop(uid int) error {
	for cap := uintptr(0); cap <= unix.CAP_LAST_CAP; cap++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, cap, 0, 0, 0); err != nil {
			return err
		}
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setresgid(uid, uid, uid), syscall.Setresuid(uid, uid, uid),
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}
