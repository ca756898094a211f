// Recordgen writes the Go codecs of Kafka's record types from the field tables
// in schemas, so that nobody has to keep some 60 types in 80 versions correct
// by hand.
//
// It is run by go generate and takes no input but the embedded tables; its
// output is a function of them alone, which a test holds against the files in
// the repository.
package main

//go:generate go run . ../..

import (
	"fmt"
	"os"
	"path/filepath"
)

// suffix ends the name of every generated file.
const suffix = "_gen.go"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: recordgen ROOT, the directory of go.mod")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "recordgen:", err)
		os.Exit(1)
	}
}

// run replaces the generated files under root.
func run(root string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for _, t := range targets {
		old, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(t.dir), "*"+suffix))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for name, source := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, source, 0o644); err != nil {
			return err
		}
	}
	return nil
}
