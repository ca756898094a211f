package admin

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	xscram "github.com/xdg-go/scram"
)

// aliceMaySee are the topics that somebody called alice may describe: orders,
// not secrets.
const aliceMaySee = `AccessControlEntryRecord {"id":"$20","resourceType":2,"resourceName":"orders","patternType":3,"principal":"User:alice","host":"*","operation":8,"permissionType":3}`

// newClosed starts an endpoint at which clients have to log in.
func newClosed(t *testing.T, login Login, more ...string) (*endpoint, *log) {
	said := &log{}
	e := newEndpoint(t, func(o *Options) {
		o.Login, o.Log = login, slog.New(slog.NewTextHandler(said, nil))
		o.Authorizer.SuperUsers = []string{"User:admin"}
	})
	e.Metadata(append([]string{
		`RegisterBrokerRecord {"brokerId":1,"brokerEpoch":1,"fenced":false,"endPoints":[{"name":"INTERNAL","host":"b1.example","port":9092}]}`,
		`TopicRecord {"name":"orders","topicId":"$1"}`,
		`TopicRecord {"name":"secrets","topicId":"$2"}`,
		aliceMaySee,
	}, more...)...)
	e.serve(t)
	return e, said
}

// topics lists the topics as a client sees them that logs in as told.
func (e *endpoint) topics(t *testing.T, options ...kgo.Opt) ([]string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(e.address), kgo.RequestRetries(0), kgo.RetryTimeout(time.Second), kgo.MaxVersions(nil),
	}, options...)...)
	require.NoError(t, err)
	defer c.Close()
	topics, err := kadm.NewClient(c).ListTopics(ctx)
	return topics.Names(), err
}

func TestPlain(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(users, []byte("alice:in:wonderland\nadmin:a\n"), 0o600))
	e, said := newClosed(t, Login{Mechanisms: []string{Plain}, UsersFile: users})
	as := func(name, password string) kgo.Opt {
		return kgo.SASL(plain.Auth{User: name, Pass: password}.AsMechanism())
	}
	names, err := e.topics(t, as("alice", "in:wonderland"))
	require.NoError(t, err)
	require.Equal(t, []string{"orders"}, names)
	names, err = e.topics(t, as("admin", "a"))
	require.NoError(t, err)
	require.Equal(t, []string{"orders", "secrets"}, names)
	for _, wrong := range []kgo.Opt{as("alice", "wrong"), as("nobody", "x"), kgo.ClientID("who does not log in")} {
		_, err := e.topics(t, wrong)
		require.Error(t, err)
	}
	require.Eventually(t, func() bool { return strings.Count(said.String(), "the login failed") == 2 }, 5*time.Second, 5*time.Millisecond)
	require.Contains(t, said.String(), "has not logged in")
	require.NotContains(t, said.String(), "wonderland")
	require.NoError(t, os.WriteFile(users, []byte("alice:changed\n"), 0o600))
	_, err = e.topics(t, as("alice", "changed"))
	require.NoError(t, err)
}

// credential is the record of a user's SCRAM credential.
func credential(t *testing.T, mechanism int8, hash xscram.HashGeneratorFcn, user, password string) string {
	c, err := hash.NewClient(user, password, "")
	require.NoError(t, err)
	stored, err := c.GetStoredCredentialsWithError(xscram.KeyFactors{Salt: "a salt", Iters: 4096})
	require.NoError(t, err)
	fields, err := json.Marshal(map[string]any{
		"name": user, "mechanism": mechanism, "salt": []byte("a salt"), "storedKey": stored.StoredKey, "serverKey": stored.ServerKey, "iterations": 4096,
	})
	require.NoError(t, err)
	return "UserScramCredentialRecord " + string(fields)
}

func TestScram(t *testing.T) {
	e, said := newClosed(t, Login{Mechanisms: []string{ScramSHA256, ScramSHA512}},
		credential(t, 1, xscram.SHA256, "alice", "wonderland"), credential(t, 2, xscram.SHA512, "admin", "everything"))
	as := func(mechanism func(scram.Auth) sasl.Mechanism, name, password string) kgo.Opt {
		return kgo.SASL(mechanism(scram.Auth{User: name, Pass: password}))
	}
	sha256 := func(a scram.Auth) sasl.Mechanism { return a.AsSha256Mechanism() }
	sha512 := func(a scram.Auth) sasl.Mechanism { return a.AsSha512Mechanism() }
	names, err := e.topics(t, as(sha256, "alice", "wonderland"))
	require.NoError(t, err)
	require.Equal(t, []string{"orders"}, names)
	names, err = e.topics(t, as(sha512, "admin", "everything"))
	require.NoError(t, err)
	require.Equal(t, []string{"orders", "secrets"}, names)
	for _, wrong := range []kgo.Opt{
		as(sha256, "alice", "wrong"), as(sha256, "nobody", "x"), as(sha512, "alice", "wonderland"),
		kgo.SASL(plain.Auth{User: "alice", Pass: "wonderland"}.AsMechanism()),
	} {
		_, err := e.topics(t, wrong)
		require.Error(t, err)
	}
	require.NotContains(t, said.String(), "wonderland")
}

// keys are a set of one public key, and what signs with the private one.
type keys struct {
	private crypto.Signer
	set     []byte
}

func newKeys(t *testing.T, id string) *keys {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: id, Algorithm: "ES256", Use: "sig"}}})
	require.NoError(t, err)
	return &keys{private, set}
}

func (k *keys) token(t *testing.T, id string, claims any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: k.private}, (&jose.SignerOptions{}).WithHeader("kid", id))
	require.NoError(t, err)
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return text
}

func TestTokens(t *testing.T) {
	mine, other := newKeys(t, "one"), newKeys(t, "one")
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write(mine.set)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, mine.set, 0o600))
	for _, place := range []string{file, server.URL} {
		e, _ := newClosed(t, Login{
			Mechanisms: []string{OAuthBearer}, Tokens: Tokens{Keys: place, Issuer: "https://issuer", Audience: "kafka"},
		})
		now := e.Now()
		good := jwt.Claims{Subject: "alice", Issuer: "https://issuer", Audience: jwt.Audience{"kafka"}, Expiry: jwt.NewNumericDate(now.Add(time.Hour))}
		names, err := e.topics(t, bearer(mine.token(t, "one", good)))
		require.NoError(t, err)
		require.Equal(t, []string{"orders"}, names)
		expired, elsewhere, forOthers, forever := good, good, good, good
		expired.Expiry = jwt.NewNumericDate(now.Add(-time.Minute))
		elsewhere.Issuer, forOthers.Audience, forever.Expiry = "https://other", jwt.Audience{"mail"}, nil
		for what, token := range map[string]string{
			"expired": mine.token(t, "one", expired), "issuer": mine.token(t, "one", elsewhere), "audience": mine.token(t, "one", forOthers),
			"without an end": mine.token(t, "one", forever), "signed by somebody else": other.token(t, "one", good),
			"an unknown key": mine.token(t, "two", good), "unsigned": "eyJhbGciOiJub25lIn0." + strings.Split(mine.token(t, "one", good), ".")[1] + ".", "no token": "x",
		} {
			_, err := e.topics(t, bearer(token))
			require.Error(t, err, what)
		}
	}
	require.Equal(t, 1, asked, "the keys are asked for once, and again after a minute at the earliest")
}

func bearer(token string) kgo.Opt { return kgo.SASL(oauth.Auth{Token: token}.AsMechanism()) }

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	dir         string
}

func newAuthority(t *testing.T) *authority {
	a := &authority{dir: t.TempDir()}
	a.certificate, a.key = a.sign(t, pkix.Name{CommonName: "authority"}, true)
	a.write(t, "ca.pem", "CERTIFICATE", a.certificate.Raw)
	return a
}

func (a *authority) sign(t *testing.T, name pkix.Name, ca bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: name, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: ca, BasicConstraintsValid: true, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, key
	if a.certificate != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return certificate, key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	path := filepath.Join(a.dir, name)
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

func (a *authority) pair(t *testing.T, name pkix.Name) (certificate, key string, pair tls.Certificate) {
	c, k := a.sign(t, name, false)
	der, err := x509.MarshalECPrivateKey(k)
	require.NoError(t, err)
	certificate, key = a.write(t, name.CommonName+".pem", "CERTIFICATE", c.Raw), a.write(t, name.CommonName+".key", "EC PRIVATE KEY", der)
	pair, err = tls.LoadX509KeyPair(certificate, key)
	require.NoError(t, err)
	return certificate, key, pair
}

// A client is whom its certificate names; one without a certificate is nobody.
func TestCertificates(t *testing.T) {
	a := newAuthority(t)
	certificate, key, _ := a.pair(t, pkix.Name{CommonName: "server"})
	_, _, alice := a.pair(t, pkix.Name{CommonName: "alice", Organization: []string{"Tea, Party"}, Country: []string{"GB"}})
	e, said := newClosed(t, Login{TLS: TLSFiles{Cert: certificate, Key: key, ClientCA: filepath.Join(a.dir, "ca.pem")}},
		strings.NewReplacer("$20", "$21", "User:alice", `User:CN=alice,O=Tea\\, Party,C=GB`).Replace(aliceMaySee))
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	names, err := e.topics(t, kgo.DialTLSConfig(&tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{alice}}))
	require.NoError(t, err)
	require.Equal(t, []string{"orders"}, names)
	_, err = e.topics(t, kgo.DialTLSConfig(&tls.Config{RootCAs: roots, ServerName: "localhost"}))
	require.Error(t, err)
	_, err = e.topics(t)
	require.Error(t, err)
	require.Contains(t, said.String(), "TLS handshake")
}

// Names are written as Java does.
func TestDistinguishedName(t *testing.T) {
	one := func(oid asn1.ObjectIdentifier, value string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: oid, Value: value}}
	}
	name := pkix.RDNSequence{
		one(asn1.ObjectIdentifier{2, 5, 4, 6}, "GB"), one(asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}, "example"),
		one(asn1.ObjectIdentifier{2, 5, 4, 3}, ` #a+b"c `), one(asn1.ObjectIdentifier{2, 5, 4, 5}, "17"),
	}
	require.Equal(t, `2.5.4.5=#13023137,CN=\ #a\+b\"c\ ,DC=example,C=GB`, distinguishedName(name))
}

// What the files of Login must be is said when the server is made.
func TestWrongLogin(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(users, []byte("alice:a\nbob\n"), 0o600))
	for want, login := range map[string]Login{
		"line 2":            {Mechanisms: []string{Plain}, UsersFile: users},
		"no such file":      {Mechanisms: []string{Plain}, UsersFile: users + "x"},
		"GSSAPI":            {Mechanisms: []string{"GSSAPI"}},
		"go together":       {TLS: TLSFiles{Cert: "a"}},
		"invalid character": {Mechanisms: []string{OAuthBearer}, Tokens: Tokens{Keys: users}},
	} {
		_, err := New(Options{Login: login})
		require.ErrorContains(t, err, want, fmt.Sprint(login))
	}
}
