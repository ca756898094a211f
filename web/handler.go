package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// handler answers a GET. An error is answered as JSON, by its status if it is
// a *failure; nothing was written then.
type handler func(w http.ResponseWriter, r *http.Request) error

// poster is a handler that answers a POST.
type poster handler

// failure is an error with the status and the code that tell what it is.
type failure struct {
	status  int
	code    string
	message string
	missing []api.Missing
}

func (f *failure) Error() string { return f.message }

func fail(status int, code, format string, args ...any) *failure {
	return &failure{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// Codes of failures are a contract.
const (
	codeBadRequest   = "badRequest"
	codeUnauthorized = "unauthorized"
	codeForbidden    = "forbidden"
	codeNotFound     = "notFound"
	codeMethod       = "methodNotAllowed"
	codeTooLarge     = "tooLarge"
	codeBusy         = "busy"
	codeLoading      = "loading"
	codeIncomplete   = "incomplete"
	codeInternal     = "internal"
)

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, http.MethodGet, http.MethodHead)
}

// ServeHTTP implements http.Handler.
func (h poster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler(h).serve(w, r, http.MethodPost)
}

func (h handler) serve(w http.ResponseWriter, r *http.Request, methods ...string) {
	err := error(fail(http.StatusMethodNotAllowed, codeMethod, "%s is not allowed here, %s is", r.Method, methods[0]))
	if slices.Contains(methods, r.Method) {
		err = h(w, r)
	} else {
		w.Header().Set("Allow", strings.Join(methods, ", "))
	}
	if err == nil {
		return
	}
	f := fail(http.StatusInternalServerError, codeInternal, "%v", err)
	errors.As(err, &f)
	writeJSON(w, f.status, api.Error{Error: api.ErrorBody{Code: f.code, Message: f.message, Missing: f.missing}})
}

// writeJSON writes v, which is one of the types of package api: those always
// encode.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be encoded"}}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that went away is nobody to tell.
	_, _ = w.Write(append(body, '\n'))
}

func notFound(_ http.ResponseWriter, r *http.Request) error {
	return fail(http.StatusNotFound, codeNotFound, "there is nothing at %.200q", r.URL.Path)
}

// places are the requests of /v1 that may be answered at a time: by clients,
// and by peers.
type places struct{ clients, peers chan struct{} }

func newPlaces() places {
	return places{clients: make(chan struct{}, maxRequests), peers: make(chan struct{}, maxRequests)}
}

func (p places) limit(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		place := p.clients
		if isLocal(r) {
			place = p.peers
		}
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
			return h(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			return fail(http.StatusServiceUnavailable, codeBusy, "%d requests are being answered; try again in a second", maxRequests)
		}
	}
}

// peerHeader marks a request that a sidecar makes for another request; it
// holds the broker that the asking one runs beside.
const peerHeader = "Kraftside-Peer"

// isLocal says whether a request is to be answered without asking others.
func isLocal(r *http.Request) bool {
	return r.Header.Get(peerHeader) != "" || r.URL.Query().Get("local") == "true"
}

// query reads the parameters of a request.
func query(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fail(http.StatusBadRequest, codeBadRequest, "parse the query: %v", err)
	}
	return q, nil
}

func nodeText(id kafka.NodeID) string { return strconv.Itoa(int(id)) }
