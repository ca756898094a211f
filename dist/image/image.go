package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// userID is of nobody on the usual systems. A pod may set another one:
	// nothing in the image belongs to this one but the directory of the store.
	userID      = 65532
	userAndID   = "65532:65532"
	programPath = "/kraftside"
	statePath   = "/var/lib/kraftside"
	rootsPath   = "/etc/ssl/certs/ca-certificates.crt" // where Go looks first
	httpPort    = "9464/tcp"
)

// fixedLabels are those that no build changes.
var fixedLabels = map[string]string{
	"org.opencontainers.image.title":       "kraftside",
	"org.opencontainers.image.description": "A sidecar beside every Apache Kafka broker that explains rebalances",
	"org.opencontainers.image.licenses":    "Apache-2.0",
	"org.opencontainers.image.source":      "https://github.com/kraftside/kraftside",
}

// variant is the image for one platform, and its bill of materials.
type variant struct {
	platform v1.Platform
	image    v1.Image
	bill     []byte // SPDX 2.3 as JSON
	labels   map[string]string
}

func newVariant(p *program) (v variant, err error) {
	v = variant{platform: p.platform, labels: labels(p)}
	if v.bill, err = bill(p); err != nil {
		return v, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err = mutate.ConfigFile(base, &v1.ConfigFile{
		OS: p.platform.OS, Architecture: p.platform.Architecture, Created: v1.Time{Time: p.time()},
		Config: v1.Config{
			User: userAndID, Entrypoint: []string{programPath}, WorkingDir: "/",
			ExposedPorts: map[string]struct{}{httpPort: {}}, Labels: v.labels,
		},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return v, err
	}
	// What seldom changes is a layer of its own, which a node has already.
	for _, files := range [][]file{surroundings(), {{path: programPath, mode: 0o755, content: p.content}}} {
		l, err := layer(files, p.time())
		if err != nil {
			return v, err
		}
		if base, err = mutate.Append(base, mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: p.time()}, CreatedBy: "make image"}}); err != nil {
			return v, err
		}
	}
	v.image = base
	return v, nil
}

func labels(p *program) map[string]string {
	all := map[string]string{"org.opencontainers.image.created": p.time().Format(time.RFC3339)}
	for key, value := range fixedLabels {
		all[key] = value
	}
	for key, value := range map[string]string{"version": p.version(), "revision": p.setting("vcs.revision")} {
		if value != "" {
			all["org.opencontainers.image."+key] = value
		}
	}
	return all
}

// file is one of an image, or a directory without content.
type file struct {
	path    string
	mode    int64
	owner   int
	dir     bool
	content []byte
}

// surroundings are all files but the program.
func surroundings() []file {
	return []file{
		{path: "/etc", mode: 0o755, dir: true},
		{path: "/etc/ssl", mode: 0o755, dir: true},
		{path: "/etc/ssl/certs", mode: 0o755, dir: true},
		{path: rootsPath, mode: 0o644, content: roots()},
		{path: "/tmp", mode: 0o1777, dir: true},
		{path: "/var", mode: 0o755, dir: true},
		{path: "/var/lib", mode: 0o755, dir: true},
		{path: statePath, mode: 0o750, owner: userID, dir: true},
	}
}

// roots are the authorities that browsers trust, as PEM. Those that are trusted
// only under conditions are left out: a file of certificates cannot say that.
//
// They are a file and not linked into the program, so that who mounts another file
// there, or names one in SSL_CERT_FILE, decides alone, and so that the program has
// none to parse beside a broker where it needs none.
func roots() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return all.Bytes()
}

// layer packs files in the order given, with one time for all.
func layer(files []file, at time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.path[1:], Mode: f.mode, Uid: f.owner, Gid: f.owner,
			Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX,
		}
		if f.dir {
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// indexOf is the index of all platforms, each with its bill of materials.
func indexOf(all []variant) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, v := range all {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: v.image, Descriptor: v1.Descriptor{Platform: &v.platform}})
	}
	for _, v := range all {
		a, err := attestation(v)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, a)
	}
	return mutate.Annotations(index, all[0].labels).(v1.ImageIndex), nil
}
