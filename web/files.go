package web

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// file is what was parsed of one or two files, read again when one of them
// changed: operators rotate secrets under a running process. What cannot be
// read or parsed, as in the middle of a rotation, leaves the former value.
type file[T any] struct {
	paths []string
	parse func(contents ...[]byte) (T, error)

	mu    sync.Mutex
	seen  []stamp
	value T
}

// stamp tells whether a file changed.
type stamp struct {
	modified time.Time
	size     int64
}

// openFile reads the files for the first time, which has to succeed.
func openFile[T any](parse func(...[]byte) (T, error), paths ...string) (*file[T], error) {
	f := &file[T]{paths: paths, parse: parse}
	return f, f.read()
}

// get is the value as of now.
func (f *file[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, path := range f.paths {
		if s, err := stampOf(path); err == nil && s != f.seen[i] {
			_ = f.read() // the former value stays
			break
		}
	}
	return f.value
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

// maxSecret bounds a file of tokens or certificates.
const maxSecret = 1 << 20

// read takes the stamps before the contents: a change in between is seen the
// next time.
func (f *file[T]) read() error {
	seen, contents := make([]stamp, len(f.paths)), make([][]byte, len(f.paths))
	for i, path := range f.paths {
		var err error
		if seen[i], err = stampOf(path); err == nil {
			contents[i], err = readSecret(path)
		}
		if err != nil {
			return err
		}
	}
	value, err := f.parse(contents...)
	if err != nil {
		return fmt.Errorf("read %s: %w", strings.Join(f.paths, " and "), err)
	}
	f.seen, f.value = seen, value
	return nil
}

func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(b) > maxSecret {
		err = fmt.Errorf("read %s: larger than %d bytes", path, maxSecret)
	}
	return b, err
}

var (
	errNoToken       = errors.New("there is no token in it; write one a line")
	errNoCertificate = errors.New("there is no PEM certificate in it")
)

// parseTokens reads one token a line.
func parseTokens(contents ...[]byte) (all []token, err error) {
	lines := bufio.NewScanner(bytes.NewReader(contents[0]))
	lines.Buffer(nil, maxSecret+1)
	for lines.Scan() {
		if t := strings.TrimSpace(lines.Text()); t != "" {
			all = append(all, token{text: t, digest: sha256.Sum256([]byte(t))})
		}
	}
	if len(all) == 0 {
		return nil, errNoToken
	}
	return all, nil
}

func parseKeyPair(contents ...[]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	return &pair, err
}

func parsePool(contents ...[]byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(contents[0]) {
		return nil, errNoCertificate
	}
	return pool, nil
}
