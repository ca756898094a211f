package admin

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/reload"
)

// Names of the mechanisms by which clients may log in (SASL).
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
	OAuthBearer = "OAUTHBEARER"
)

// Login is how clients prove who they are. Without mechanisms, and without
// authorities that sign their certificates, nobody has to, and everybody may
// see everything. Files are read again when they change.
type Login struct {
	// Mechanisms are those that clients may choose from. With SCRAM they log in
	// with the credentials that the cluster has for them.
	Mechanisms []string
	// UsersFile has the users of PLAIN: a name, a colon and a password a line.
	UsersFile string
	Tokens    Tokens
	TLS       TLSFiles
}

// TLSFiles are PEM files. Cert and Key go together; ClientCA needs both: with
// it clients bring a certificate, and are whom that names if they need not log
// in beside it.
type TLSFiles struct{ Cert, Key, ClientCA string }

// door is what a connection has to get through.
type door struct {
	mechanisms []string
	users      *reload.File[map[string]digest] // nil: none
	tokens     *tokens                         // nil: none
	keyPair    *reload.File[*tls.Certificate]  // nil: no TLS
	clientCA   *reload.File[*x509.CertPool]    // nil: clients bring no certificate
}

var (
	errTLSFiles  = errors.New("the certificate and its key go together, and the client CA needs both")
	errMechanism = errors.New("no such SASL mechanism is served")
)

func newDoor(l *Login) (d *door, err error) {
	d = &door{mechanisms: l.Mechanisms}
	for _, m := range l.Mechanisms {
		if m != Plain && m != ScramSHA256 && m != ScramSHA512 && m != OAuthBearer {
			return nil, fmt.Errorf("%w: %q", errMechanism, m)
		}
	}
	if slices.Contains(l.Mechanisms, Plain) {
		if d.users, err = reload.Open(parseUsers, l.UsersFile); err != nil {
			return nil, err
		}
	}
	if slices.Contains(l.Mechanisms, OAuthBearer) {
		if d.tokens, err = newTokens(l.Tokens); err != nil {
			return nil, err
		}
	}
	return d, d.openTLS(l.TLS)
}

func (d *door) openTLS(f TLSFiles) (err error) {
	if (f.Cert == "") != (f.Key == "") || f.Cert == "" && f.ClientCA != "" {
		return errTLSFiles
	}
	if f.Cert != "" {
		d.keyPair, err = reload.Open(reload.KeyPair, f.Cert, f.Key)
	}
	if err == nil && f.ClientCA != "" {
		d.clientCA, err = reload.Open(reload.Pool, f.ClientCA)
	}
	return err
}

// closed says whether clients have to prove who they are.
func (d *door) closed() bool { return len(d.mechanisms) > 0 || d.clientCA != nil }

// tls is nil without a certificate. Each connection gets the files as they are
// then.
func (d *door) tls() *tls.Config {
	if d.keyPair == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*d.keyPair.Get()}}
			if d.clientCA != nil {
				c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, d.clientCA.Get()
			}
			return c, nil
		},
	}
}

// digest is of a password: comparing digests takes the same time wherever
// passwords differ, and whatever their lengths.
type digest [sha256.Size]byte

var errUsers = errors.New("want NAME:PASSWORD on each line")

// parseUsers reads a name, a colon and a password a line. A password may hold
// colons, a name may not.
func parseUsers(contents ...[]byte) (map[string]digest, error) {
	users := map[string]digest{}
	lines := bufio.NewScanner(bytes.NewReader(contents[0]))
	lines.Buffer(nil, len(contents[0])+1)
	for n := 1; lines.Scan(); n++ {
		name, password, ok := strings.Cut(lines.Text(), ":")
		switch {
		case strings.TrimSpace(lines.Text()) == "":
		case !ok || name == "" || password == "":
			return nil, fmt.Errorf("line %d: %w", n, errUsers)
		default:
			users[name] = sha256.Sum256([]byte(password))
		}
	}
	return users, lines.Err()
}

// admits says whether a password is the user's.
func (d *door) admits(name, password string) bool {
	want, known := d.users.Get()[name]
	have := digest(sha256.Sum256([]byte(password)))
	return subtle.ConstantTimeCompare(want[:], have[:]) == 1 && known
}

// session is how far a client has proved who it is. It belongs to its
// connection.
type session struct {
	principal string    // "" until it has
	mechanism string    // of the exchange
	exchange  exchange  // under way, or nil
	failed    bool      // the connection ends with the answer
	expires   time.Time // of the login; zero: it does not
}

// allows says whether a request may be made by whom the client has proved to be
// so far.
func (s *session) allows(key int16, now time.Time) bool {
	switch key {
	case apiVersionsKey, saslHandshakeKey, saslAuthenticateKey:
		return true
	}
	return s.principal != "" && (s.expires.IsZero() || now.Before(s.expires))
}

// exchange is the messages of a mechanism, of which the client has the first.
// The name is that of the user, once it is certain.
type exchange interface {
	next(message []byte) (answer []byte, name string, err error)
}

// errCredentials does not say what was wrong with them.
var errCredentials = errors.New("invalid credentials")

// failure is what a broker says of an exchange that failed.
func (s *session) failure() string {
	if s.mechanism == Plain {
		return "Authentication failed: Invalid username or password"
	}
	when := "authentication"
	if s.principal != "" {
		when = "re-authentication"
	}
	return fmt.Sprintf("Authentication failed during %s due to invalid credentials with SASL mechanism %s", when, s.mechanism)
}

// begin starts the exchange of a mechanism; false if it is not served.
func (d *door) begin(mechanism string, credentials *image.ScramImage, now func() time.Time) (exchange, bool) {
	if !slices.Contains(d.mechanisms, mechanism) {
		return nil, false
	}
	switch mechanism {
	case Plain:
		return plainExchange{d.admits}, true
	case OAuthBearer:
		return &bearerExchange{check: func(token string) (string, time.Time, error) { return d.tokens.check(token, now()) }}, true
	}
	return newScramExchange(mechanism, credentials), true
}

// plainExchange is one message: an authorization id, a name and a password,
// with a NUL between (PlainSaslServer).
type plainExchange struct {
	admits func(name, password string) bool
}

func (p plainExchange) next(message []byte) ([]byte, string, error) {
	parts := strings.Split(string(message), "\x00")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" || parts[0] != "" && parts[0] != parts[1] || !p.admits(parts[1], parts[2]) {
		return nil, "", errCredentials
	}
	return nil, parts[1], nil
}
