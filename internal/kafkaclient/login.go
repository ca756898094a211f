package kafkaclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/kraftside/kraftside/internal/config"
)

// mechanism is how to log in, or nil. kgo asks it for credentials at every
// login, those included that a connection repeats because its session ends
// (KIP-368).
func (a *Access) mechanism() sasl.Mechanism {
	switch a.security.SASL.Mechanism {
	case config.Plain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := a.password()
			return plain.Auth{User: a.security.SASL.Username, Pass: password}, err
		})
	case config.ScramSHA256:
		return scram.Sha256(a.scram)
	case config.ScramSHA512:
		return scram.Sha512(a.scram)
	case config.OAuthBearer:
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := a.token()
			return oauth.Auth{Token: token}, err
		})
	}
	return nil
}

// checkLogin says whether credentials are there.
func (a *Access) checkLogin() (err error) {
	switch a.security.SASL.Mechanism {
	case config.Plain, config.ScramSHA256, config.ScramSHA512:
		_, err = a.password()
	case config.OAuthBearer:
		_, err = a.token()
	}
	return err
}

func (a *Access) scram(context.Context) (scram.Auth, error) {
	password, err := a.password()
	return scram.Auth{User: a.security.SASL.Username, Pass: password}, err
}

func (a *Access) password() (string, error) {
	s := &a.security.SASL
	if s.Password != "" {
		return string(s.Password), nil
	}
	b, err := readFile(s.PasswordFile)
	if err != nil {
		return "", a.fileError(err, "sasl.password-file")
	}
	// An editor ends the last line; a password may well begin or end in a blank.
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	if len(b) == 0 {
		return "", a.fileError(fmt.Errorf("%s is empty", s.PasswordFile), "sasl.password-file")
	}
	return string(b), nil
}

var errNotToken = errors.New("want one token, which has no blanks and no line feeds in it")

func (a *Access) token() (string, error) {
	path := a.security.SASL.TokenFile
	b, err := readFile(path)
	if err != nil {
		return "", a.fileError(err, "sasl.token-file")
	}
	b = bytes.TrimSpace(b)
	if len(b) == 0 || bytes.ContainsFunc(b, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", a.fileError(fmt.Errorf("%s: %w", path, errNotToken), "sasl.token-file")
	}
	return string(b), nil
}

// maxFile bounds a file of secrets, in bytes; one of authorities may have many.
const maxFile = 1 << 20

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return b, err
}
