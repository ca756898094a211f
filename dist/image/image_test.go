package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

const (
	root = "../.."
	tags = "grpcnotrace,beside"
)

// TestImage makes the image twice, of copies of the sources at different places and
// under different settings of the go command.
func TestImage(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "elsewhere", "and", "deeper")
	revision := copyOfSources(t, one)
	require.Equal(t, revision, copyOfSources(t, two))
	out := filepath.Join(t.TempDir(), "image")
	digest, err := run(context.Background(), sources{one, tags}, out)
	require.NoError(t, err)
	t.Setenv("GOFLAGS", "-buildvcs=false")
	t.Setenv("CGO_ENABLED", "1")
	again, err := run(context.Background(), sources{two, tags}, filepath.Join(t.TempDir(), "image"))
	require.NoError(t, err)
	require.Equal(t, digest.String(), again.String(), "the same sources at two places")

	index := onlyIndex(t, out)
	written, err := index.Digest()
	require.NoError(t, err)
	require.Equal(t, digest, written)
	m, err := index.IndexManifest()
	require.NoError(t, err)
	require.Equal(t, revision, m.Annotations["org.opencontainers.image.revision"])
	images, bills := sorted(t, index, m)
	require.Len(t, images, len(platforms))
	for _, p := range platforms {
		t.Run(p.Architecture, func(t *testing.T) {
			d, there := images[p.String()]
			require.True(t, there, "no image for %s", p)
			image, err := index.Image(d.Digest)
			require.NoError(t, err)
			require.NoError(t, validate.Image(image))
			checkConfiguration(t, image, p, revision)
			files := filesOf(t, image)
			checkFiles(t, files)
			checkProgram(t, files[programPath].content, p, revision)
			bill := bills[d.Digest.String()]
			require.NotEmpty(t, bill, "the index has no bill of materials for %s", p)
			beside, err := os.ReadFile(out + "-linux-" + p.Architecture + ".spdx.json")
			require.NoError(t, err)
			require.JSONEq(t, string(beside), string(bill))
			checkBill(t, bill, files[programPath].content, p)
		})
	}
}

// copyOfSources copies what the program is made of to a directory, commits it, and
// returns the revision, which is the same for the same content.
func copyOfSources(t *testing.T, dir string) (revision string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if below == "bin" || below == "test" || entry.Name() == "testdata" || below != "." && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, below), 0o755)
		}
		if below == ".git" { // that of a work tree is a file
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, below), content, 0o644)
	}))
	for _, arguments := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "all"}} {
		git(t, dir, arguments...)
	}
	return git(t, dir, "rev-parse", "HEAD")
}

func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	c := exec.Command("git", arguments...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	said, err := c.CombinedOutput()
	require.NoError(t, err, "git, with which the go command finds the revision of the sources: %s", said)
	return strings.TrimSpace(string(said))
}

// onlyIndex is the one that the layout names.
func onlyIndex(t *testing.T, dir string) v1.ImageIndex {
	t.Helper()
	top, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	m, err := top.IndexManifest()
	require.NoError(t, err)
	require.Len(t, m.Manifests, 1)
	index, err := top.ImageIndex(m.Manifests[0].Digest)
	require.NoError(t, err)
	return index
}

// sorted are the images of an index by platform, and the bills of materials by the
// digest of the image they are about.
func sorted(t *testing.T, index v1.ImageIndex, m *v1.IndexManifest) (images map[string]v1.Descriptor, bills map[string][]byte) {
	t.Helper()
	images, bills = map[string]v1.Descriptor{}, map[string][]byte{}
	for _, d := range m.Manifests {
		if d.Platform.OS != "unknown" {
			images[d.Platform.String()] = d
			continue
		}
		image, err := index.Image(d.Digest)
		require.NoError(t, err)
		layers, err := image.Layers()
		require.NoError(t, err)
		require.Len(t, layers, 1)
		content, err := layers[0].Uncompressed()
		require.NoError(t, err)
		var s statement
		require.NoError(t, json.NewDecoder(content).Decode(&s))
		of := d.Annotations[annotationDigest]
		require.Equal(t, of, "sha256:"+s.Subject[0].Digest["sha256"])
		bills[of] = s.Predicate
	}
	return images, bills
}

func checkConfiguration(t *testing.T, image v1.Image, p v1.Platform, revision string) {
	c, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, p.String(), c.Platform().String())
	require.Equal(t, "65532:65532", c.Config.User, "it must not run as root")
	require.Equal(t, []string{"/kraftside"}, c.Config.Entrypoint)
	require.Equal(t, "2026-01-02T03:04:05Z", c.Config.Labels["org.opencontainers.image.created"])
	require.Equal(t, revision, c.Config.Labels["org.opencontainers.image.revision"])
	require.NotEmpty(t, c.Config.Labels["org.opencontainers.image.version"])
	require.Equal(t, "Apache-2.0", c.Config.Labels["org.opencontainers.image.licenses"])
}

// filesOf are all files of an image, by path.
func filesOf(t *testing.T, image v1.Image) map[string]file {
	t.Helper()
	packed := mutate.Extract(image)
	defer packed.Close()
	files := map[string]file{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		path := "/" + strings.Trim(h.Name, "/")
		files[path] = file{path: path, mode: h.Mode & 0o7777, owner: h.Uid, dir: h.Typeflag == tar.TypeDir, content: content}
	}
}

func checkFiles(t *testing.T, files map[string]file) {
	for path, f := range files {
		require.True(t, f.owner == 0 || path == statePath, "%s belongs to its user, who could change it", path)
		require.True(t, f.mode&0o022 == 0 || path == "/tmp", "%s can be written by others", path)
	}
	require.Equal(t, userID, files[statePath].owner)
	pool, n := x509.NewCertPool(), 0
	for rest := files[rootsPath].content; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		require.True(t, c.IsCA, c.Subject.String())
		pool.AddCert(c)
	}
	require.NotZero(t, n, "no authority is trusted")
}

// checkProgram looks at the program as a loader does, and runs that for the
// machine at hand.
func checkProgram(t *testing.T, content []byte, p v1.Platform, revision string) {
	f, err := elf.NewFile(bytes.NewReader(content))
	require.NoError(t, err)
	require.Equal(t, map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[p.Architecture], f.Machine)
	libraries, err := f.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	for _, part := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, part.Type, "it needs a dynamic loader, which the image does not have")
	}
	if p.OS != runtime.GOOS || p.Architecture != runtime.GOARCH {
		return
	}
	name := filepath.Join(t.TempDir(), "kraftside")
	require.NoError(t, os.WriteFile(name, content, 0o755))
	c := exec.Command(name, "version", "-o", "json")
	c.Env = []string{} // as in a container
	said, err := c.Output()
	require.NoError(t, err)
	var v struct {
		Version, Revision, Platform string
		Modified                    bool
	}
	require.NoError(t, json.Unmarshal(said, &v))
	require.Equal(t, revision, v.Revision)
	require.Equal(t, p.String(), v.Platform)
	require.False(t, v.Modified)
}

// checkBill compares a bill of materials with go.mod, and with what the go command
// lists as the program's packages.
func checkBill(t *testing.T, bill, program []byte, p v1.Platform) {
	d, err := spdxjson.Read(bytes.NewReader(bill))
	require.NoError(t, err)
	versions := map[string]string{}
	for _, one := range d.Packages {
		versions[one.PackageName] = one.PackageVersion
	}
	sum := sha256.Sum256(program)
	require.Equal(t, []spdx.Checksum{{Algorithm: spdx.SHA256, Value: hex.EncodeToString(sum[:])}}, d.Packages[0].PackageChecksums)
	require.Equal(t, strings.TrimPrefix(runtime.Version(), "go"), versions["stdlib"])

	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	mod, err := modfile.Parse("go.mod", content, nil)
	require.NoError(t, err)
	require.Empty(t, mod.Replace, "the versions of go.mod are then not those that are linked")
	want := map[string]string{mod.Module.Mod.Path: versions[mod.Module.Mod.Path], "stdlib": versions["stdlib"]}
	linked := modulesOf(t, p)
	for _, r := range mod.Require {
		if linked[r.Mod.Path] {
			want[r.Mod.Path] = r.Mod.Version
		}
	}
	require.Equal(t, want, versions)
}

// modulesOf are the modules of the packages that the program has.
func modulesOf(t *testing.T, p v1.Platform) map[string]bool {
	t.Helper()
	c := exec.Command("go", "list", "-deps", "-tags", tags, "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/sidecar")
	c.Dir = root
	c.Env = append(append(os.Environ(), fixed...), "GOOS="+p.OS, "GOARCH="+p.Architecture)
	said, err := c.Output()
	require.NoError(t, err)
	modules := map[string]bool{}
	for _, path := range strings.Fields(string(said)) {
		modules[path] = true
	}
	return modules
}

// TestReplace: a mistyped directory costs nobody his files, an older layout is
// replaced.
func TestReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	require.NoError(t, mayReplace(dir))
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, mayReplace(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letters"), nil, 0o644))
	require.ErrorContains(t, mayReplace(dir), "no OCI image layout")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "oci-layout"), nil, 0o644))
	require.NoError(t, mayReplace(dir))
}

// TestDockerfile holds the Dockerfile to what the image made here is.
func TestDockerfile(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	require.NoError(t, err)
	_, last, found := strings.Cut(string(content), "\nFROM scratch\n")
	require.True(t, found, "the last stage has nothing but what is copied to it")
	for _, line := range []string{
		"USER " + userAndID, `ENTRYPOINT ["` + programPath + `"]`, "EXPOSE " + strings.TrimSuffix(httpPort, "/tcp"),
		"COPY --from=build /kraftside " + programPath, "COPY --from=build /etc/ssl/certs/ca-certificates.crt " + rootsPath,
		"COPY --from=build --chown=" + userAndID + " --chmod=750 /state " + statePath,
		"COPY --from=build --chmod=1777 /empty /tmp",
	} {
		require.Contains(t, "\n"+last, "\n"+line+"\n")
	}
	for key, value := range fixedLabels {
		require.Contains(t, last, key+`="`+value+`"`)
	}
	require.Contains(t, string(content), "-tags "+tags)
}
