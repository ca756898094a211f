package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/kraftside/kraftside/internal/reload"
)

// Tokens is which tokens are accepted by OAUTHBEARER: those that one of the keys
// has signed, that are not expired, and that are from and for whom they should
// be (BrokerJwtValidator).
type Tokens struct {
	// Keys is a file with a set of keys (JWKS), or the URL of one, which is
	// asked again when a token names a key that is not in it, once in a minute
	// at most.
	Keys string
	// Issuer and Audience, unless empty, are what iss must be and aud must
	// hold.
	Issuer, Audience string
	// Claim is the one that has the user's name; sub if empty.
	Claim string
}

const (
	maxKeysBytes = 1 << 20
	keysTimeout  = 5 * time.Second
	keysPause    = time.Minute
	// leeway is how much clocks may differ (sasl.oauthbearer.clock.skew.seconds).
	leeway = 30 * time.Second
)

// algorithms are those of signatures by a private key; whoever could check one
// with a shared secret could make one.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// tokens checks tokens. It may be used from any goroutine.
type tokens struct {
	Tokens
	file *reload.File[*jose.JSONWebKeySet] // nil: the keys are at a URL
	http *http.Client

	mu    sync.Mutex
	keys  *jose.JSONWebKeySet // of the URL
	asked time.Time
}

func newTokens(o Tokens) (t *tokens, err error) {
	t = &tokens{Tokens: o, http: &http.Client{Timeout: keysTimeout}}
	if t.Claim == "" {
		t.Claim = "sub"
	}
	if !strings.HasPrefix(o.Keys, "https://") && !strings.HasPrefix(o.Keys, "http://") {
		t.file, err = reload.Open(parseKeys, o.Keys)
	}
	return t, err
}

var errNoKeys = errors.New("there is no key in it")

func parseKeys(contents ...[]byte) (*jose.JSONWebKeySet, error) {
	set := &jose.JSONWebKeySet{}
	if err := json.Unmarshal(contents[0], set); err != nil {
		return nil, err
	}
	if len(set.Keys) == 0 {
		return nil, errNoKeys
	}
	return set, nil
}

// check says for whom a token is, and until when.
func (t *tokens) check(text string, now time.Time) (name string, expires time.Time, err error) {
	token, err := jwt.ParseSigned(text, algorithms)
	if err != nil {
		return "", expires, err
	}
	key, err := t.key(token.Headers[0].KeyID, now)
	if err != nil {
		return "", expires, err
	}
	claims, all := jwt.Claims{}, map[string]any{}
	if err := token.Claims(key, &claims, &all); err != nil {
		return "", expires, err
	}
	expected := jwt.Expected{Issuer: t.Issuer, Time: now}
	if t.Audience != "" {
		expected.AnyAudience = jwt.Audience{t.Audience}
	}
	if err := claims.ValidateWithLeeway(expected, leeway); err != nil {
		return "", expires, err
	}
	name, _ = all[t.Claim].(string)
	if name == "" || claims.Expiry == nil {
		return "", expires, fmt.Errorf("the token has no %s, or does not expire", t.Claim)
	}
	return name, claims.Expiry.Time(), nil
}

var errUnknownKey = errors.New("the token is signed with a key that is not known")

// key is the one of an id; of a set of one key, that.
func (t *tokens) key(id string, now time.Time) (any, error) {
	if t.file != nil {
		return keyOf(t.file.Get(), id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if key, err := keyOf(t.keys, id); err == nil || now.Sub(t.asked) < keysPause {
		return key, err
	}
	t.asked = now
	set, err := t.fetch()
	if err != nil {
		return nil, err
	}
	t.keys = set
	return keyOf(set, id)
}

func keyOf(set *jose.JSONWebKeySet, id string) (any, error) {
	if set == nil {
		return nil, errUnknownKey
	}
	if id == "" && len(set.Keys) == 1 {
		return set.Keys[0].Key, nil
	}
	if found := set.Key(id); len(found) > 0 {
		return found[0].Key, nil
	}
	return nil, errUnknownKey
}

func (t *tokens) fetch() (*jose.JSONWebKeySet, error) {
	r, err := t.http.Get(t.Keys)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxKeysBytes))
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", t.Keys, r.Status)
	}
	if err != nil {
		return nil, err
	}
	return parseKeys(body)
}
