//go:build unix

package jaeger

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Recorder stands between an exporter and a Jaeger, and speaks OTLP over HTTP. It keeps what passes, takes log records,
// which Jaeger does not, and can be as slow and as forgetful as networks are.
type Recorder struct {
	URL string

	mu       sync.Mutex
	accepted []Request
	hooks    Hooks
}

// Request is a request that was accepted.
type Request struct {
	Path string // /v1/traces or /v1/logs
	Body []byte // OTLP in protobuf
}

// Hooks decide what becomes of requests. Each may wait until ctx ends, which is when the exporter gives up, and lets
// requests pass if it is nil.
type Hooks struct {
	// Admit says whether a request is taken at all.
	Admit func(ctx context.Context) bool
	// Answer says whether the exporter hears that its request was accepted.
	Answer func(ctx context.Context, r Request) bool
}

// NewRecorder passes traces on to a Jaeger until the test ends.
func NewRecorder(tb testing.TB, to *Server) *Recorder {
	r := new(Recorder)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.WriteHeader(r.serve(q, to.HTTP))
	}))
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// serve returns the status of the answer.
func (r *Recorder) serve(q *http.Request, to string) int {
	body, err := io.ReadAll(q.Body)
	hooks := r.current()
	if err != nil || hooks.Admit != nil && !hooks.Admit(q.Context()) {
		return http.StatusServiceUnavailable
	}
	if q.URL.Path == "/v1/traces" {
		answer, err := http.Post(to+q.URL.Path, q.Header.Get("Content-Type"), bytes.NewReader(body))
		if err != nil {
			return http.StatusBadGateway
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.StatusCode
		}
	}
	request := Request{q.URL.Path, body}
	r.mu.Lock()
	r.accepted = append(r.accepted, request)
	r.mu.Unlock()
	if hooks.Answer != nil && !hooks.Answer(q.Context(), request) {
		return http.StatusGatewayTimeout
	}
	return http.StatusOK
}

func (r *Recorder) current() Hooks {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hooks
}

// Hook has other hooks decide of the requests from now on.
func (r *Recorder) Hook(h Hooks) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = h
}

// Accepted are the requests that were accepted, oldest first, whether or not the exporter heard of it.
func (r *Recorder) Accepted() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.accepted)
}
