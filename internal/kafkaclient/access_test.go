package kafkaclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/config"
)

func start(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("c1")}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// ask asks a server for its cluster id, over a new connection.
func ask(t *testing.T, a *Access, addresses []string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := a.NewClient(addresses)
	require.NoError(t, err)
	defer client.Close()
	return ClusterID(ctx, client)
}

func requireAnswer(t *testing.T, a *Access, c *kfake.Cluster) {
	t.Helper()
	id, err := ask(t, a, c.ListenAddrs())
	require.NoError(t, err)
	require.Equal(t, "c1", id)
}

func password(f files, m config.Mechanism, text string) config.Security {
	return config.Security{
		TLS:  config.TLS{Enabled: config.Off},
		SASL: config.SASL{Mechanism: m, Username: "u", PasswordFile: f.write("password", []byte(text))},
	}
}

func TestPlaintext(t *testing.T) {
	c := start(t)
	requireAnswer(t, New("kafka", config.Security{TLS: config.TLS{Enabled: config.Off}, SASL: config.SASL{Mechanism: config.NoSASL}}, "v1"), c)
	c.ControlKey(kmsg.Metadata.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		return req.ResponseKind(), nil, true
	})
	_, err := ask(t, New("kafka", config.Security{}, "v1"), c.ListenAddrs())
	require.ErrorIs(t, err, errNoClusterID)
}

// Each mechanism logs in with what the file holds at that moment.
func TestPasswords(t *testing.T) {
	for _, m := range []config.Mechanism{config.Plain, config.ScramSHA256, config.ScramSHA512} {
		t.Run(string(m), func(t *testing.T) {
			c, f := start(t, kfake.EnableSASL(), kfake.Superuser(string(m), "u", "a b ")), newFiles(t)
			s := password(f, m, "wrong\n")
			a := New("kafka", s, "v1")
			_, err := ask(t, a, c.ListenAddrs())
			require.Error(t, err)
			f.write("password", []byte("a b \r\n"))
			requireAnswer(t, a, c)
			require.NoError(t, os.Remove(s.SASL.PasswordFile))
			_, err = ask(t, a, c.ListenAddrs())
			require.ErrorIs(t, err, os.ErrNotExist)
			require.Equal(t, "check what kafka.sasl.password-file names; it is read again for the next connection", a.Advice(err))

			s.SASL.PasswordFile, s.SASL.Password = "", "a b "
			requireAnswer(t, New("kafka", s, "v1"), c)
		})
	}
}

// A session that ends is begun anew on the same connection, with the password
// as it is then.
func TestPasswordOfTheNextSession(t *testing.T) {
	c := start(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "p"), kfake.BrokerConfigs(map[string]string{"connections.max.reauth.ms": "1"}))
	f := newFiles(t)
	client, err := New("kafka", password(f, config.Plain, "p"), "v1").NewClient(c.ListenAddrs())
	require.NoError(t, err)
	defer client.Close()
	_, err = ClusterID(t.Context(), client)
	require.NoError(t, err)
	f.write("password", nil)
	require.Eventually(t, func() bool { // the session has ended
		_, err = ClusterID(t.Context(), client)
		return err != nil
	}, 10*time.Second, time.Millisecond)
	require.ErrorContains(t, err, "is empty")
}

func TestToken(t *testing.T) {
	f := newFiles(t)
	a := New("kafka", config.Security{SASL: config.SASL{Mechanism: config.OAuthBearer, TokenFile: f.write("token", []byte("one.two.\n"))}}, "v1")
	first := func() (string, error) {
		_, message, err := a.mechanism().Authenticate(t.Context(), "")
		return string(message), err
	}
	message, err := first()
	require.NoError(t, err)
	require.Contains(t, message, "auth=Bearer one.two.\x01")
	f.write("token", []byte("three"))
	message, err = first()
	require.NoError(t, err)
	require.Contains(t, message, "auth=Bearer three\x01")
	for _, bad := range []string{"", "\n", "a b", "a\x01host=x", "a\nb", "ä", strings.Repeat("a", maxFile+1)} {
		f.write("token", []byte(bad))
		_, err = first()
		require.ErrorContains(t, err, "kafka.sasl.token-file: ")
		require.NotContains(t, err.Error(), "host=x")
	}
}

// A server and its authority, and our certificate and its authority, are all
// exchanged under a running client; the next connection uses the new ones.
func TestCertificatesAreReadForEveryConnection(t *testing.T) {
	var server atomic.Pointer[tls.Config]
	f := newFiles(t)
	rotate := func() {
		ours, theirs := newAuthority(t), newAuthority(t)
		certificate, _, _ := theirs.sign(nil)
		server.Store(&tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: ours.pool(), ClientAuth: tls.RequireAndVerifyClientCert})
		_, cert, key := ours.sign(nil)
		f.write("ca.pem", theirs.pem())
		f.write("cert.pem", cert)
		f.write("key.pem", key)
	}
	rotate()
	c := start(t, kfake.TLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return server.Load(), nil }}))
	in := func(name string) string { return f.dir + "/" + name }
	a := New("kafka", config.Security{
		TLS: config.TLS{Enabled: config.On, CAFile: in("ca.pem"), CertFile: in("cert.pem"), KeyFile: in("key.pem")},
	}, "v1")
	for range 3 {
		requireAnswer(t, a, c)
		rotate()
	}

	f.write("key.pem", []byte("half a key"))
	_, err := ask(t, a, c.ListenAddrs())
	require.ErrorContains(t, err, "key.pem: tls: failed to find any PEM data in key input")
	require.Contains(t, a.Advice(err), "kafka.tls.cert-file and kafka.tls.key-file")
}

// A server hears of nothing that goes wrong on our side.
func TestNoConnectionWithBrokenFiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	f := newFiles(t)
	broken := f.write("broken.pem", []byte("-----BEGIN CERTIFICATE-----\n"))
	_, cert, _ := newAuthority(t).sign(nil)
	good := f.write("good.pem", cert)
	for _, s := range []config.Security{
		{TLS: config.TLS{CAFile: "none"}},
		{TLS: config.TLS{CAFile: broken}},
		{TLS: config.TLS{CertFile: "none", KeyFile: "none"}},
		{TLS: config.TLS{CertFile: good, KeyFile: "none"}},
		{TLS: config.TLS{CertFile: good, KeyFile: good}},
		{SASL: config.SASL{Mechanism: config.ScramSHA256, Username: "u", PasswordFile: "none"}},
		{SASL: config.SASL{Mechanism: config.OAuthBearer, TokenFile: "none"}},
	} {
		s.TLS.Enabled = config.On
		a := New("controllers", s, "v1")
		_, err := a.Dial(t.Context(), "tcp", l.Addr().String())
		require.ErrorContains(t, err, "controllers.")
		require.Contains(t, a.Advice(err), "check what controllers.")
	}
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now()))
	_, err = l.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// Servers refuse a software version of another form.
func TestAcceptable(t *testing.T) {
	for in, want := range map[string]string{
		"v1.2.3": "v1.2.3", "(devel)": "devel", "": "0", "...": "0", "v0.0.0-20260101-abc+dirty": "v0.0.0-20260101-abc-dirty", "1 ü-": "1",
	} {
		require.Equal(t, want, acceptable(in))
	}
}

// closing is the address of a server that closes connections once it has read a
// length that is beyond all measure, as Kafka does when it is spoken to in TLS
// and does not expect it.
func closing(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(conn, make([]byte, 4)) // whatever comes
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// mismatch is a listener, which without options is closing, a configuration
// that does not fit it, and what is said about it.
type mismatch struct {
	server []kfake.Opt
	client config.Security
	advice string
}

func TestAdvice(t *testing.T) {
	f, ca, other := newFiles(t), newAuthority(t), newAuthority(t)
	certificate := func(a *authority, change func(*x509.Certificate)) tls.Certificate {
		c, _, _ := a.sign(change)
		return c
	}
	listener := func(c tls.Certificate, change func(*tls.Config)) []kfake.Opt {
		s := &tls.Config{Certificates: []tls.Certificate{c}}
		if change != nil {
			change(s)
		}
		return []kfake.Opt{kfake.TLS(s)}
	}
	good := certificate(ca, nil)
	wantsClient := func(s *tls.Config) { s.ClientAuth, s.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool() }
	_, cert, key := other.sign(nil)
	strange := config.TLS{Enabled: config.On, CAFile: f.write("ca.pem", ca.pem()), CertFile: f.write("cert.pem", cert), KeyFile: f.write("key.pem", key)}
	tlsOn := config.TLS{Enabled: config.On, CAFile: strange.CAFile}
	named := func(name string) config.TLS { s := tlsOn; s.ServerName = name; return s }
	withSASL := []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "p")}
	anonymous := config.SASL{Mechanism: config.NoSASL}

	for name, m := range map[string]mismatch{
		"TLS to plaintext": {nil, config.Security{TLS: tlsOn, SASL: anonymous},
			"the listener does not speak TLS, it seems: give the address of one that does, or set kafka.tls.enabled to false"},
		"plaintext to TLS": {listener(good, nil), config.Security{TLS: config.TLS{Enabled: config.Off}, SASL: anonymous},
			"the listener wants TLS, it seems: set kafka.tls.enabled, or give the address of one without"},
		"authority": {listener(certificate(other, nil), nil), config.Security{TLS: tlsOn, SASL: anonymous},
			"the server's certificate is signed by nobody who is trusted: set kafka.tls.ca-file to the authority that signed it"},
		"system's authorities": {listener(good, nil), config.Security{TLS: config.TLS{Enabled: config.On}, SASL: anonymous},
			"the server's certificate is signed by nobody who is trusted: set kafka.tls.ca-file to the authority that signed it"},
		"name": {listener(good, nil), config.Security{TLS: named("elsewhere"), SASL: anonymous},
			"the server's certificate is for another name: connect by a name that is in it, or set kafka.tls.server-name to one"},
		"expired": {listener(certificate(ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), nil), config.Security{TLS: tlsOn, SASL: anonymous},
			"the server's certificate is not valid (now, or for this use): renew it, or set the clock of this host"},
		"no client certificate": {listener(good, wantsClient), config.Security{TLS: tlsOn, SASL: anonymous},
			"the listener wants a client certificate (mTLS): set kafka.tls.cert-file and kafka.tls.key-file"},
		"strange client certificate": {listener(good, wantsClient), config.Security{TLS: strange, SASL: anonymous},
			"the server does not accept the client certificate of kafka.tls.cert-file: use one that an authority in its truststore has signed and that has not expired"},
		"strange client certificate, TLS 1.2": {listener(good, func(s *tls.Config) { wantsClient(s); s.MaxVersion = tls.VersionTLS12 }), config.Security{TLS: strange, SASL: anonymous},
			"the server does not accept the client certificate of kafka.tls.cert-file: use one that an authority in its truststore has signed and that has not expired"},
		"old TLS": {listener(good, func(s *tls.Config) { s.MinVersion, s.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }), config.Security{TLS: tlsOn, SASL: anonymous},
			"the server refuses the TLS handshake: compare the TLS versions and cipher suites that it allows, and check its log"},
		"no login": {withSASL, config.Security{TLS: config.TLS{Enabled: config.Off}, SASL: anonymous},
			"the server closed the connection at the first request: if the listener wants a login, set kafka.sasl.mechanism"},
		"mechanism": {withSASL, config.Security{TLS: config.TLS{Enabled: config.Off}, SASL: config.SASL{Mechanism: config.OAuthBearer, TokenFile: f.write("t", []byte("t"))}},
			"the listener does not take OAUTHBEARER: set kafka.sasl.mechanism to one of its sasl.enabled.mechanisms"},
	} {
		t.Run(name, func(t *testing.T) {
			a := New("kafka", m.client, "v1")
			addresses := []string{closing(t)}
			if m.server != nil {
				addresses = start(t, m.server...).ListenAddrs()
			}
			_, err := ask(t, a, addresses)
			require.Error(t, err)
			require.Equal(t, m.advice, a.Advice(err), "%v", err)
		})
	}
	right := New("kafka", config.Security{TLS: named("kafka"), SASL: anonymous}, "v1")
	requireAnswer(t, right, start(t, listener(good, nil)...))
}

// What a server answers, and what is nobody's business here.
func TestAdviceOnCodes(t *testing.T) {
	passwords := New("controllers", config.Security{SASL: config.SASL{Mechanism: config.ScramSHA512, Username: "u\x1b"}}, "")
	token := New("kafka", config.Security{SASL: config.SASL{Mechanism: config.OAuthBearer}}, "")
	require.Equal(t, `the login as "u\x1b" was refused: check the user and the password, and that it has credentials for SCRAM-SHA-512`,
		passwords.Advice(kerr.SaslAuthenticationFailed))
	require.Equal(t, "the login was refused: check that the token in kafka.sasl.token-file has not expired and is for this cluster",
		token.Advice(kerr.SaslAuthenticationFailed))
	require.Equal(t, "the listener takes no login: give the address of one with SASL, or set kafka.sasl.mechanism to none",
		token.Advice(kerr.IllegalSaslState))
	for _, err := range []error{nil, kerr.ClusterAuthorizationFailed, context.DeadlineExceeded, os.ErrDeadlineExceeded, kgo.ErrClientClosed} {
		require.Empty(t, token.Advice(err))
	}
	_, err := New("kafka", config.Security{}, "").Dial(t.Context(), "tcp", "127.0.0.1:1")
	require.Error(t, err)
	require.Empty(t, token.Advice(err))
}
