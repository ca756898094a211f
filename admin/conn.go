package admin

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// conn is one connection. Its requests are answered one after the other, as a
// broker does. It belongs to one goroutine.
type conn struct {
	*Server
	net.Conn
	broker  kafka.NodeID
	session session
	in, out []byte
}

// converse answers requests until the client goes or does something that a
// broker would end the connection for. The caller closes it.
func (s *Server) converse(ctx context.Context, nc net.Conn, broker kafka.NodeID) {
	defer func() {
		if r := recover(); r != nil { // of one request; the sidecar goes on
			s.o.Log.Error("admin endpoint: a request made it panic", "remote", nc.RemoteAddr().String(), "panic", r, "stack", string(debug.Stack()))
		}
	}()
	c := &conn{Server: s, Conn: nc, broker: broker}
	err := c.enter(ctx)
	for err == nil && ctx.Err() == nil {
		err = c.serveOne(ctx)
	}
	if err != nil && ctx.Err() == nil && !ordinary(err) {
		s.o.Log.Warn("admin endpoint: connection closed", "remote", nc.RemoteAddr().String(), "error", err)
	}
}

// enter does what comes before the first request: TLS, and whom the client's
// certificate names.
func (c *conn) enter(ctx context.Context) error {
	if !c.door.closed() {
		c.session.principal = anonymous
	}
	config := c.door.tls()
	if config == nil {
		return nil
	}
	encrypted := tls.Server(c.Conn, config)
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	c.Conn = encrypted
	if principal, ok := certificatePrincipal(encrypted.ConnectionState()); ok && len(c.door.mechanisms) == 0 {
		c.session.principal = principal
	}
	return nil
}

// ordinary says whether connections end like that every day.
func ordinary(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, errIdle)
}

func (c *conn) serveOne(ctx context.Context) error {
	frame, err := c.readFrame()
	if err != nil {
		return err
	}
	h, body, err := parseHeader(frame)
	if err != nil {
		return err
	}
	a, known := c.served[h.key]
	switch {
	case h.key == apiVersionsKey && (h.version < a.min || h.version > a.max):
		c.encode(h, unsupportedApiVersions(a))
		return c.send()
	case !known, h.version < a.min, h.version > a.max:
		return fmt.Errorf("%w: %s (key %d) version %d of client %q", errNotServed, kmsg.NameForKey(h.key), h.key, h.version, h.client)
	case !c.session.allows(h.key, c.o.Now()):
		return fmt.Errorf("%w: %s of client %q", errNotLoggedIn, kmsg.NameForKey(h.key), h.client)
	}
	q := kmsg.RequestForKey(h.key)
	q.SetVersion(h.version)
	if body, err = h.skipTags(body, q); err != nil {
		return err
	}
	if err := q.ReadFrom(body); err != nil {
		return fmt.Errorf("%w: %s version %d: %w", errMalformed, kmsg.NameForKey(h.key), h.version, err)
	}
	if err := c.answer(ctx, h, a, q); err != nil {
		return err
	}
	if c.session.failed {
		sleep(ctx, failurePause)
		return fmt.Errorf("%w: client %q", errLoginFailed, h.client)
	}
	return nil
}

// failurePause is how long a client whose login failed waits for the end of its
// connection (connection.failed.authentication.delay.ms).
const failurePause = 100 * time.Millisecond

var (
	errNotServed   = errors.New("a request that is not served here")
	errMalformed   = errors.New("a malformed request")
	errTooLarge    = errors.New("a request that is too large")
	errIdle        = errors.New("idle for too long")
	errNotLoggedIn = errors.New("a request of somebody who has not logged in")
	errLoginFailed = errors.New("the login failed")
)

// answer holds one of the places until the answer is encoded.
func (c *conn) answer(ctx context.Context, h header, a api, q kmsg.Request) error {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	held := true
	leave := func() {
		if held {
			held = false
			<-c.places
		}
	}
	defer leave()
	response := a.answer(c.newCall(h.version, c.broker, c.LocalAddr(), c.RemoteAddr(), &c.session), q)
	if response == nil {
		return fmt.Errorf("%w: %s version %d has values that are not known", errMalformed, kmsg.NameForKey(h.key), h.version)
	}
	c.encode(h, response)
	// While there is no room for what waits for slow readers, the place is not
	// given to somebody whose answer would need more of it.
	n := min(int64(len(c.out)), maxPendingBytes)
	if err := c.pending.Acquire(ctx, n); err != nil {
		return err
	}
	defer c.pending.Release(n)
	leave()
	return c.send()
}

func (c *conn) encode(h header, r kmsg.Response) {
	c.out = append(c.out[:0], 0, 0, 0, 0)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(h.correlation))
	if r.IsFlexible() && r.Key() != apiVersionsKey { // whose header says nothing that a client might not know
		c.out = append(c.out, 0)
	}
	c.out = r.AppendTo(c.out)
	binary.BigEndian.PutUint32(c.out, uint32(len(c.out)-4))
}

func (c *conn) send() error {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.Write(c.out)
	if cap(c.out) > keptBytes {
		c.out = nil
	}
	return err
}

// keptBytes is how much memory of a request or an answer a connection keeps for
// the next one.
const keptBytes = 64 << 10

// readFrame reads one request. What it returns is valid until the next one.
func (c *conn) readFrame() ([]byte, error) {
	if cap(c.in) > keptBytes {
		c.in = nil
	}
	var size [4]byte
	if err := c.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(c, size[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errIdle
		}
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(size[:]))
	if n < minHeader || n > maxRequestBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, and may have %d to %d", errTooLarge, n, minHeader, maxRequestBytes)
	}
	if err := c.SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
		return nil, err
	}
	c.in = c.in[:0]
	for len(c.in) < int(n) { // memory follows what has come
		have := len(c.in)
		c.in = append(c.in, make([]byte, min(int(n)-have, keptBytes))...)
		if _, err := io.ReadFull(c, c.in[have:]); err != nil {
			return nil, err
		}
	}
	return c.in, nil
}
