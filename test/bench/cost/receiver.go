package main

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// receiver takes what is sent by OTLP over HTTP, and counts it. Its methods and
// counters may be used by several goroutines.
type receiver struct {
	url    string
	server http.Server
	spans  atomic.Int64
	bytes  atomic.Int64 // of requests for traces and logs, as they are sent
}

func newReceiver() (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String()}
	r.server.Handler = http.HandlerFunc(r.serve)
	go func() { _ = r.server.Serve(l) }() // it ends when it is closed
	return r, nil
}

func (r *receiver) close() { _ = r.server.Close() } // whoever sends to it has ended

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(&counted{req.Body, &r.bytes})
	if req.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	content, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if req.URL.Path == "/v1/traces" {
		r.spans.Add(count(content, spansOfRequest))
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // an empty answer takes all
}

// spansOfRequest are the numbers of the fields that lead to spans: resource_spans,
// scope_spans, spans.
var spansOfRequest = []protowire.Number{1, 2, 2}

// count is how many fields there are at the end of a path of messages.
func count(message []byte, path []protowire.Number) (n int64) {
	if len(path) == 0 {
		return 1
	}
	for len(message) > 0 {
		number, kind, head := protowire.ConsumeTag(message)
		if head < 0 {
			return n
		}
		size := protowire.ConsumeFieldValue(number, kind, message[head:])
		if size < 0 {
			return n
		}
		if number == path[0] && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[head:])
			n += count(value, path[1:])
		}
		message = message[head+size:]
	}
	return n
}

// counted counts what is read.
type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
