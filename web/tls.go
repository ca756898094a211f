package web

import (
	"crypto/tls"
	"errors"

	"github.com/kraftside/kraftside/internal/reload"
)

var errTLSFiles = errors.New("http.tls: the certificate and its key go together, and the client CA needs both")

func (g *guard) openTLS(f TLSFiles) (err error) {
	if (f.Cert == "") != (f.Key == "") || f.Cert == "" && f.ClientCA != "" {
		return errTLSFiles
	}
	if f.Cert != "" {
		g.keyPair, err = reload.Open(reload.KeyPair, f.Cert, f.Key)
	}
	if err == nil && f.ClientCA != "" {
		g.clientCA, err = reload.Open(reload.Pool, f.ClientCA)
	}
	return err
}

// serverTLS is nil without a certificate. Each connection gets the files as
// they are then. A client need not bring a certificate, since health and
// metrics are for anyone; one that it brings must be good.
func (g *guard) serverTLS() *tls.Config {
	if g.keyPair == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := &tls.Config{
				MinVersion:   tls.VersionTLS12,
				Certificates: []tls.Certificate{*g.keyPair.Get()},
				NextProtos:   []string{"h2", "http/1.1"},
			}
			if g.clientCA != nil {
				c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, g.clientCA.Get()
			}
			return c, nil
		},
	}
}

// clientTLS is what peers are asked with, if there is a certificate. Peers have
// the same configuration: they are asked for a certificate of the client CA if
// there is one, else for one that this host trusts, and are shown our own.
func (g *guard) clientTLS() *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return g.keyPair.Get(), nil
		},
	}
	if g.clientCA != nil {
		c.RootCAs = g.clientCA.Get()
	}
	return c
}
