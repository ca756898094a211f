package admin

import (
	"bytes"
	"strings"
	"time"
)

// bearerExchange is a token, and after a bad one a second message, with which
// the client says that it has understood (OAuthBearerSaslServer, RFC 7628).
type bearerExchange struct {
	check   func(token string) (name string, expires time.Time, err error)
	expires time.Time
	failed  error
}

// refusal is what a client is told of a token that is not accepted.
const refusal = `{"status":"invalid_token"}`

func (x *bearerExchange) next(message []byte) ([]byte, string, error) {
	if x.failed != nil {
		return nil, "", x.failed
	}
	token, authzid, ok := bearerToken(message)
	if !ok {
		return nil, "", errCredentials
	}
	name, expires, err := x.check(token)
	if err == nil && authzid != "" && authzid != name {
		err = errCredentials
	}
	if err != nil {
		x.failed = errCredentials
		return []byte(refusal), "", nil
	}
	x.expires = expires
	return nil, name, nil
}

// bearerToken reads n,a=AUTHZID,^Aauth=Bearer TOKEN^A…^A^A.
func bearerToken(message []byte) (token, authzid string, ok bool) {
	head, rest, ok := bytes.Cut(message, []byte{1})
	if !ok || !bytes.HasPrefix(head, []byte("n,")) {
		return "", "", false
	}
	authzid = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(string(head), "n,"), ","), "a=")
	for pair := range bytes.SplitSeq(rest, []byte{1}) {
		if key, value, found := strings.Cut(string(pair), "="); found && key == "auth" {
			scheme, text, _ := strings.Cut(value, " ")
			return strings.TrimSpace(text), authzid, strings.EqualFold(scheme, "bearer")
		}
	}
	return "", "", false
}
