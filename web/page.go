package web

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
)

const (
	defaultLimit = 100
	maxLimit     = 1000

	// maxPageBytes ends a page before its limit: what a request holds in
	// memory is bounded, whatever the size of a group.
	maxPageBytes = 4 << 20
	minPageBytes = 64 << 10
)

// page is what a request wants of a list.
type page struct {
	after string // the name that the page begins after, if begun
	begun bool
	limit int
	bytes int
}

// parsePage reads limit, after and bytes. A limit beyond what there may be
// counts as that, so that a client can ask for as much as it can get.
func parsePage(q url.Values) (p page, err error) {
	if p.limit, err = positive(q, "limit", defaultLimit, maxLimit); err != nil {
		return p, err
	}
	if p.bytes, err = positive(q, "bytes", maxPageBytes, maxPageBytes); err != nil {
		return p, err
	}
	if token := q.Get("after"); token != "" {
		p.begun = true
		p.after, err = parseToken(token)
	}
	if err != nil {
		return p, fail(http.StatusBadRequest, codeBadRequest, "after: %v", err)
	}
	return p, nil
}

// positive reads a whole number from 1 on; a larger one than most counts as
// most.
func positive(q url.Values, name string, otherwise, most int) (int, error) {
	value := q.Get(name)
	if value == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return most, nil
	}
	if err != nil || n == 0 {
		return 0, fail(http.StatusBadRequest, codeBadRequest, "%s: %.40q is not a whole number from 1 on", name, value)
	}
	return int(min(n, uint64(most))), nil
}

// A token names the last element of a page: a byte for the form of the token,
// then the name, in base64.

const tokenForm = 1

var errBadToken = errors.New("not a token of this list; give what the page before had as next")

func newToken(name string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{tokenForm}, name...))
}

func parseToken(token string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) == 0 || b[0] != tokenForm {
		return "", errBadToken
	}
	name := string(b[1:])
	if newToken(name) != token { // the decoder passes over line breaks, and bits that are too many
		return "", errBadToken
	}
	return name, nil
}
