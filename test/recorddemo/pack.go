//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kraftside/kraftside/demo"
)

// segment is the name of a log's first segment.
const segment = "00000000000000000000.log"

// maxSize bounds the recording, which is part of the binary.
const maxSize = 1_000_000

// pack writes the recording: the manifest, and the logs in folders as Kafka has them.
func pack(file, logs string, m *demo.Manifest) error {
	manifest, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(logs, demo.ManifestFile), append(manifest, '\n'), 0o644); err != nil {
		return err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if err := errors.Join(z.AddFS(os.DirFS(logs)), z.Close()); err != nil {
		return err
	}
	if b.Len() > maxSize {
		return fmt.Errorf("the recording has %d bytes, more than %d", b.Len(), maxSize)
	}
	fmt.Printf("%s: %d bytes, %s\n", file, b.Len(), total(m.Hashes))
	return os.WriteFile(file, b.Bytes(), 0o644)
}
