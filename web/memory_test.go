package web

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// memoryServer serves connections that are in memory, so that time can be
// simulated around it.
type memoryServer struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newMemoryServer(tb testing.TB, h http.Handler) *memoryServer {
	m := &memoryServer{conns: make(chan net.Conn), closed: make(chan struct{})}
	m.close = sync.OnceFunc(func() { close(m.closed) })
	server := &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(m) }) // the error says that it was closed
	tb.Cleanup(func() {
		_ = server.Close() // of connections that nobody uses any more
		serving.Wait()
	})
	return m
}

// dial connects to the server.
func (m *memoryServer) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (m *memoryServer) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *memoryServer) Close() error {
	m.close()
	return nil
}

// Addr implements net.Listener.
func (m *memoryServer) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }
