package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return &authority{certificate, key}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.certificate)
	return p
}

// sign makes a certificate for a host and its key, as PEM.
func (a *authority) sign(t *testing.T, serial int64, host string) (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// files makes the files of a server for a host, which a client has to show a
// certificate of the same authority.
func (a *authority) files(t *testing.T, serial int64, host string) TLSFiles {
	certificate, key := a.sign(t, serial, host)
	return TLSFiles{Cert: writeFile(t, "cert.pem", certificate), Key: writeFile(t, "key.pem", key), ClientCA: writeFile(t, "ca.pem", a.pem())}
}

// serve runs a server on loopback until the test ends.
func serve(t *testing.T, s *Server) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return l.Addr().String()
}

// ask makes a request by a name to an address.
func ask(address string, config *tls.Config, url string) (status int, serial int64, err error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   config,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	if response.TLS != nil {
		serial = response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	return response.StatusCode, serial, err
}

func TestServeWithoutTLS(t *testing.T) {
	address := serve(t, one(t, Access{}).server)
	status, _, err := ask(address, nil, "http://localhost/v1/status")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	status, _, err = ask(address, nil, "http://rebound.example/v1/status")
	require.NoError(t, err)
	require.Equal(t, 403, status)
}

// A client certificate opens /v1; health needs none; one of another authority
// is refused in the handshake. Certificates are read again when they change.
func TestServeWithTLS(t *testing.T) {
	a := newAuthority(t)
	files := a.files(t, 10, "b1.example")
	address := serve(t, one(t, Access{TLS: files}).server)
	client := func(by *authority) *tls.Config {
		c := &tls.Config{RootCAs: a.pool()}
		if by != nil {
			certificate, key := by.sign(t, 99, "client")
			pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
			require.NoError(t, err)
			c.Certificates = []tls.Certificate{pair}
		}
		return c
	}
	status, serial, err := ask(address, client(nil), "https://b1.example/healthz")
	require.NoError(t, err)
	require.Equal(t, []any{200, int64(10)}, []any{status, serial})
	status, _, err = ask(address, client(nil), "https://b1.example/v1/groups")
	require.NoError(t, err)
	require.Equal(t, 403, status)
	status, _, err = ask(address, client(a), "https://b1.example/v1/groups")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	_, _, err = ask(address, client(newAuthority(t)), "https://b1.example/healthz")
	require.Error(t, err)

	certificate, key := a.sign(t, 11, "b1.example")
	for path, content := range map[string]string{files.Cert: certificate, files.Key: key} {
		later := time.Now().Add(time.Minute)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		require.NoError(t, os.Chtimes(path, later, later))
	}
	_, serial, err = ask(address, client(nil), "https://b1.example/healthz")
	require.NoError(t, err)
	require.EqualValues(t, 11, serial)
}

// Peers show each other their certificates; one of another authority is
// missing.
func TestPeersWithTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	s := newScenario(t)
	listeners := map[kafka.NodeID]string{}
	for node := kafka.NodeID(1); node <= 3; node++ {
		by := a
		if node == 3 {
			by = other
		}
		c := s.add(node, pipeline.Options{Scope: pipeline.Local}, func(o *Options) {
			o.Access = Access{TLS: by.files(t, int64(node), fmt.Sprintf("b%d.example", node))}
		})
		listeners[node] = serve(t, c.server)
		c.server.peers.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			var to kafka.NodeID
			_, err := fmt.Sscanf(address, "b%d.example", &to)
			require.NoError(t, err)
			return new(net.Dialer).DialContext(ctx, network, listeners[to])
		}
	}
	s.metadata(brokers(3)...)
	require.Equal(t, []kafka.NodeID{3}, missingOf(t, s.sidecars[1].get("/v1/groups")))
	require.Equal(t, []kafka.NodeID{1, 2}, missingOf(t, s.sidecars[3].get("/v1/groups")))
}
