package kafkaclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/kraftside/kraftside/internal/config"
)

// dialTimeout bounds a connection attempt, the TLS handshake included.
const dialTimeout = 10 * time.Second

// Dial makes a connection, with TLS if the configuration says so, and only if
// there are credentials to log in with.
func (a *Access) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := a.checkLogin(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if a.security.TLS.Enabled != config.On {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c, err := a.clientTLS(address)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, c)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, &handshakeError{err}
	}
	return secured, nil
}

// clientTLS reads the files.
func (a *Access) clientTLS(address string) (*tls.Config, error) {
	t := &a.security.TLS
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cmp.Or(t.ServerName, host)}
	if t.CAFile != "" {
		if c.RootCAs, err = readPool(t.CAFile); err != nil {
			return nil, a.fileError(err, "tls.ca-file")
		}
	}
	if t.CertFile != "" {
		pair, err := readKeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, a.fileError(err, "tls.cert-file", "tls.key-file")
		}
		// Not by Certificates: then one that the server does not like, by its
		// list of authorities, would be kept back, and the server would
		// complain of none instead of saying what is wrong with this one.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return c, nil
}

func readPool(path string) (*x509.CertPool, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("there is no PEM certificate in %s", path)
	}
	return pool, nil
}

func readKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := readFile(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readFile(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return pair, fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
	}
	return pair, nil
}
