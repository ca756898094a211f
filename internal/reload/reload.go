// Package reload keeps what was parsed of files up to date while they are
// replaced, so that secrets and certificates are rotated without a restart.
package reload

import (
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

// File is what was parsed of one or two files, read again when one of them
// changed: operators rotate secrets under a running process. What cannot be
// read or parsed, as in the middle of a rotation, leaves the former
// value. Its methods may be called from any goroutine.
type File[T any] struct {
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

// Open reads the files for the first time, which has to succeed.
func Open[T any](parse func(...[]byte) (T, error), paths ...string) (*File[T], error) {
	f := &File[T]{paths: paths, parse: parse}
	return f, f.read()
}

// Get is the value as of now.
func (f *File[T]) Get() T {
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
func (f *File[T]) read() error {
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

var errNoCertificate = errors.New("there is no PEM certificate in it")

// KeyPair parses a certificate and its private key, in PEM.
func KeyPair(contents ...[]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	return &pair, err
}

// Pool parses certificates of authorities, in PEM.
func Pool(contents ...[]byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(contents[0]) {
		return nil, errNoCertificate
	}
	return pool, nil
}
