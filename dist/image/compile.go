package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// platforms are those that the image is made for.
var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// fixed is the environment that decides what the compiler makes of the same
// sources. What a user has set for other programs must not change the digest.
var fixed = []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off"}

// sources are what is compiled, and with which build tags.
type sources struct{ dir, tags string }

// program is a compiled one, and what the go command recorded in it.
type program struct {
	platform v1.Platform
	content  []byte
	info     *debug.BuildInfo
}

// compile makes the program as a file of that name, without paths of this machine
// in it, and reads it.
func (s sources) compile(ctx context.Context, p v1.Platform, name string) (*program, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-tags", s.tags, "-ldflags", "-s -w -buildid=", "-o", name, "./cmd/sidecar")
	build.Dir = s.dir
	build.Env = append(append(os.Environ(), fixed...), "GOOS="+p.OS, "GOARCH="+p.Architecture)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("compile %s for %s: %w", s.dir, p, err)
	}
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(name)
	return &program{p, content, info}, err
}

// setting is one that the go command recorded, or empty.
func (p *program) setting(key string) string {
	for _, s := range p.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// version is that of the main module, or empty where there is none: the sources
// were not in a repository.
func (p *program) version() string {
	if v := p.info.Main.Version; v != "(devel)" {
		return v
	}
	return ""
}

// time is that of the commit, so that it is the same wherever and whenever the
// image is made; the beginning of 1970 where there is none.
func (p *program) time() time.Time {
	t, err := time.Parse(time.RFC3339, p.setting("vcs.time"))
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC()
}
