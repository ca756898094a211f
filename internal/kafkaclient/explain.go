package kafkaclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/config"
)

// fileError is a file that cannot be used.
type fileError struct {
	settings string
	err      error
}

func (e *fileError) Error() string { return e.settings + ": " + e.err.Error() }

func (e *fileError) Unwrap() error { return e.err }

func (a *Access) fileError(err error, settings ...string) error {
	for i := range settings {
		settings[i] = a.set(settings[i])
	}
	return &fileError{strings.Join(settings, " and "), err}
}

// handshakeError is a TLS handshake that failed.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }

func (e *handshakeError) Unwrap() error { return e.err }

// Advice says, of an error of a connection or of a login, what it means and
// what to do, in one sentence without an end. It is "" for errors that have
// nothing to do with either: the server is down, say, or refuses a request.
func (a *Access) Advice(err error) string {
	var file *fileError
	var handshake *handshakeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &file):
		return "check what " + file.settings + " names; it is read again for the next connection"
	case errors.As(err, &handshake):
		return a.adviseHandshake(handshake.err)
	}
	if advice := a.adviseLogin(err); advice != "" {
		return advice
	}
	return a.adviseClosed(err)
}

// adviseHandshake is for what the handshake itself says.
func (a *Access) adviseHandshake(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return "the server's certificate is signed by nobody who is trusted: set " + a.set("tls.ca-file") + " to the authority that signed it"
	case errors.As(err, &name):
		return "the server's certificate is for another name: connect by a name that is in it, or set " + a.set("tls.server-name") + " to one"
	case errors.As(err, &invalid):
		return "the server's certificate is not valid (now, or for this use): renew it, or set the clock of this host"
	case errors.As(err, &record), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, context.DeadlineExceeded):
		return "the listener does not speak TLS, it seems: give the address of one that does, or set " + a.set("tls.enabled") + " to false"
	}
	return a.adviseAlert(err)
}

// adviseAlert is for what the server says of our side. With TLS 1.3 it may say
// so when the handshake is over for us.
func (a *Access) adviseAlert(err error) string {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return ""
	}
	if strings.Contains(op.Err.Error(), "certificate") {
		if a.security.TLS.CertFile == "" {
			return "the listener wants a client certificate (mTLS): set " + a.set("tls.cert-file") + " and " + a.set("tls.key-file")
		}
		return "the server does not accept the client certificate of " + a.set("tls.cert-file") +
			": use one that an authority in its truststore has signed and that has not expired"
	}
	return "the server refuses the TLS handshake: compare the TLS versions and cipher suites that it allows, and check its log"
}

// adviseLogin is for error codes of SASL.
func (a *Access) adviseLogin(err error) string {
	s := &a.security.SASL
	switch {
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("the listener does not take %s: set %s to one of its sasl.enabled.mechanisms", s.Mechanism, a.set("sasl.mechanism"))
	case errors.Is(err, kerr.IllegalSaslState):
		return "the listener takes no login: give the address of one with SASL, or set " + a.set("sasl.mechanism") + " to none"
	case !errors.Is(err, kerr.SaslAuthenticationFailed):
		return ""
	case s.Mechanism == config.OAuthBearer:
		return "the login was refused: check that the token in " + a.set("sasl.token-file") + " has not expired and is for this cluster"
	}
	return fmt.Sprintf("the login as %q was refused: check the user and the password, and that it has credentials for %s", s.Username, s.Mechanism)
}

// adviseClosed is for connections that end before anything was said. Kafka
// closes them where a client does not speak as the listener expects.
func (a *Access) adviseClosed(err error) string {
	var first *kgo.ErrFirstReadEOF
	alert := a.adviseAlert(err)
	switch {
	case alert != "":
		return alert
	case strings.Contains(err.Error(), "tls alert record"):
		return a.adviseTLS()
	case !errors.As(err, &first):
		return ""
	case strings.Contains(first.Error(), "api versions") && a.security.TLS.Enabled == config.Off:
		return a.adviseTLS()
	case a.security.SASL.Mechanism == config.NoSASL:
		return "the server closed the connection at the first request: if the listener wants a login, set " + a.set("sasl.mechanism")
	}
	return ""
}

func (a *Access) adviseTLS() string {
	return "the listener wants TLS, it seems: set " + a.set("tls.enabled") + ", or give the address of one without"
}

func (a *Access) set(setting string) string { return a.prefix + "." + setting }
