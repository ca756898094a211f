package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/kraftside/kraftside/internal/reload"
)

// Access says who may ask. /healthz, /readyz and /metrics are for anyone. /v1
// is for whoever meets one of these:
//
//   - AllowAnonymous is set;
//   - the connection brought a certificate that TLS.ClientCA signed;
//   - the request brings a token of TokenFile (Authorization: Bearer);
//   - the client is on this host: it comes from a loopback address, to a Host
//     that means loopback (a page of another site can make a browser send
//     requests here, under that site's name), without a header by which a
//     proxy or a browser says that it speaks for somebody else.
//
// A reverse proxy that adds no such header, and everybody behind it, counts as
// a client on this host: make it add one, or let it bring a token.
//
// Files are read again when they change.
type Access struct {
	// TokenFile holds tokens, one a line, so that they can be rotated; the
	// first is the one that peers are asked with.
	TokenFile      string
	TLS            TLSFiles
	AllowAnonymous bool
}

// TLSFiles are PEM files. Cert and Key go together; ClientCA needs both.
type TLSFiles struct{ Cert, Key, ClientCA string }

// guard lets requests through that Access allows.
type guard struct {
	anonymous bool
	tokens    *reload.File[[]token] // nil: none
	keyPair   *reload.File[*tls.Certificate]
	clientCA  *reload.File[*x509.CertPool] // nil: clients bring no certificate
}

// token is what a client sends, and its digest: comparing digests takes the
// same time wherever the tokens differ, and whatever their lengths.
type token struct {
	text   string
	digest [sha256.Size]byte
}

func newGuard(a Access) (*guard, error) {
	g := &guard{anonymous: a.AllowAnonymous}
	var err error
	if a.TokenFile != "" {
		if g.tokens, err = reload.Open(parseTokens, a.TokenFile); err != nil {
			return nil, err
		}
	}
	return g, g.openTLS(a.TLS)
}

// protect refuses requests that Access does not allow.
func (g *guard) protect(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if g.anonymous || hasCertificate(r) || g.hasToken(r) || fromThisHost(r) {
			return h(w, r)
		}
		if g.tokens != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="kraftside"`)
			return fail(http.StatusUnauthorized, codeUnauthorized, "a bearer token is needed from another host; see http.token-file")
		}
		return fail(http.StatusForbidden, codeForbidden,
			"only clients on this host may ask; others need http.token-file, http.tls.client-ca-file or http.allow-anonymous")
	}
}

// hasCertificate says whether the client proved itself: the handshake verifies
// any certificate that it brings.
func hasCertificate(r *http.Request) bool { return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 }

func (g *guard) hasToken(r *http.Request) bool {
	if g.tokens == nil {
		return false
	}
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return false
	}
	digest, same := sha256.Sum256([]byte(strings.TrimSpace(sent))), 0
	for _, t := range g.tokens.Get() {
		same |= subtle.ConstantTimeCompare(digest[:], t.digest[:])
	}
	return same == 1
}

// actsForOthers are headers of proxies, and of browsers that act for a page.
var actsForOthers = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}

func fromThisHost(r *http.Request) bool {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !remote.Addr().Unmap().IsLoopback() || !meansLoopback(r.Host) {
		return false
	}
	for _, header := range actsForOthers {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	origin := r.Header.Get("Origin")
	return origin == "" || isLoopbackOrigin(origin)
}

func isLoopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && meansLoopback(u.Host)
}

// meansLoopback says whether a Host, with or without a port, can only be this
// host.
func meansLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
