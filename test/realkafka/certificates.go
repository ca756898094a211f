//go:build unix

package realkafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLife is longer than any test and short enough for a leaked key to be useless.
const certificateLife = 24 * time.Hour

// authority signs the certificates of one cluster.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func (n *node) keyFile() string   { return filepath.Join(n.dir, "key.pem") }
func (n *node) trustFile() string { return filepath.Join(n.dir, "trust.pem") }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{key: key, cert: cert}, err
}

func certificate(commonName string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(certificateLife),
	}
}

// sign returns a key and its certificate, for the loopback address as a server and for commonName as a client.
func (a *authority) sign(commonName string) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := certificate(commonName)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	return key, der, err
}

// writeStores writes a server's key with its certificate, and the authority that it trusts, as Kafka's PEM stores.
func (a *authority) writeStores(n *node) error {
	key, der, err := a.sign(n.name())
	if err != nil {
		return err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	store := append(pemBlock("PRIVATE KEY", pkcs8), pemBlock("CERTIFICATE", der)...)
	if err := os.WriteFile(n.keyFile(), store, 0o600); err != nil {
		return err
	}
	return os.WriteFile(n.trustFile(), pemBlock("CERTIFICATE", a.cert.Raw), 0o600)
}

func pemBlock(kind string, b []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
}

// AuthorityPEM returns the certificate that a client of the secured listeners must trust, as a PEM file holds it.
func (c *Cluster) AuthorityPEM() []byte {
	return pemBlock("CERTIFICATE", c.config.Security.authority.cert.Raw)
}

// TLS returns a client's configuration for the secured listeners; its certificate is for User:CN=commonName.
func (c *Cluster) TLS(commonName string) (*tls.Config, error) {
	a := c.config.Security.authority
	key, der, err := a.sign(commonName)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{
		RootCAs:      roots,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}, nil
}
