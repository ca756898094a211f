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
	answer   func(ctx context.Context, r Request) bool
}

// Request is a request that was accepted.
type Request struct {
	Path string // /v1/traces or /v1/logs
	Body []byte // OTLP in protobuf
}

// NewRecorder passes traces on to a Jaeger, unless that is nil, until the test ends.
func NewRecorder(tb testing.TB, to *Server) *Recorder {
	r := new(Recorder)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.WriteHeader(r.serve(q, to))
	}))
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// serve returns the status of the answer.
func (r *Recorder) serve(q *http.Request, to *Server) int {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return http.StatusBadRequest
	}
	if to != nil && q.URL.Path == "/v1/traces" {
		answer, err := http.Post(to.HTTP+q.URL.Path, q.Header.Get("Content-Type"), bytes.NewReader(body))
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
	answer := r.answer
	r.mu.Unlock()
	if answer != nil && !answer(q.Context(), request) {
		return http.StatusGatewayTimeout
	}
	return http.StatusOK
}

// Answer has a function decide, from now on, whether an exporter hears that its request was accepted; nil: always. It may
// wait until ctx ends, which is when the exporter gives up.
func (r *Recorder) Answer(decide func(ctx context.Context, r Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = decide
}

// Accepted are the requests that were accepted, oldest first, whether or not the exporter heard of it.
func (r *Recorder) Accepted() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.accepted)
}
