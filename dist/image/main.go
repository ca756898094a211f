// Command image makes the container image of kraftside without Docker: it compiles
// the program for each platform and writes an OCI image layout with one index of
// them. It has a module of its own, so that the program does not depend on what
// writes images.
//
// The image has nothing in it but the program, certificates of public authorities
// and a directory for the store. The same sources, compiled by the same release of
// Go, give the same digest wherever they lie. The index holds a software bill of
// materials for each platform (see attestation), which is also written to a file
// beside the layout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

func main() {
	source := flag.String("source", "../..", "directory of the sources, where the go.mod of kraftside is")
	out := flag.String("o", "../../bin/image", "directory of the layout; what is there is replaced if it is a layout")
	tags := flag.String("tags", "", "build tags of the program")
	flag.Parse()
	digest, err := run(context.Background(), sources{*source, *tags}, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// run writes the layout and the bills of materials, and returns the digest of the
// index.
func run(ctx context.Context, s sources, out string) (v1.Hash, error) {
	temp, err := os.MkdirTemp("", "kraftside-image-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(temp)
	var all []variant
	for _, p := range platforms {
		program, err := s.compile(ctx, p, filepath.Join(temp, p.Architecture))
		if err != nil {
			return v1.Hash{}, err
		}
		v, err := newVariant(program)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("make the image for %s: %w", p, err)
		}
		all = append(all, v)
	}
	index, err := indexOf(all)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("make the index: %w", err)
	}
	if err := write(index, out); err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", out, err)
	}
	for _, v := range all {
		name := fmt.Sprintf("%s-%s-%s.spdx.json", out, v.platform.OS, v.platform.Architecture)
		if err := os.WriteFile(name, v.bill, 0o644); err != nil {
			return v1.Hash{}, err
		}
	}
	return index.Digest()
}

// write makes the layout under another name first, so that a build that fails
// leaves the last one as it is.
func write(index v1.ImageIndex, dir string) error {
	if err := mayReplace(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // it is gone if all went well
	path, err := layout.Write(temp, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// mayReplace fails if the directory has something in it that is no layout: a
// mistyped name must not cost anybody his files.
func mayReplace(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
		return errors.New("the directory is not empty and is no OCI image layout; give another one, or remove it")
	}
	return nil
}
