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
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
)

// conn is one connection. Its requests are answered one after the other, as a
// broker does. It belongs to one goroutine.
type conn struct {
	*Server
	net.Conn
	broker  kafka.NodeID
	session session
	in      []byte
	out     *[]byte // between encode and send
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
		s.complain("connection closed", "remote", nc.RemoteAddr().String(), "error", err)
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
	if err == nil {
		err = c.dispatch(ctx, h, body)
	}
	switch api := kmsg.NameForKey(h.key); {
	case err == nil:
		c.o.OnRequest(api, Answered)
	case errors.Is(err, errRefused):
		c.o.OnRequest(api, Refused)
		c.complain("a request that is not served was refused", "request", h.String(), "remote", c.RemoteAddr().String())
		return nil
	default:
		c.o.OnRequest(api, Ended)
	}
	return err
}

// dispatch answers a request if it may be made here and now.
func (c *conn) dispatch(ctx context.Context, h header, body []byte) error {
	a, known := c.served[h.key]
	switch {
	case h.key == apiVersionsKey && (h.version < a.min || h.version > a.max):
		c.encode(h, unsupportedApiVersions(a))
		return c.send()
	case !known && !h.refusable(), known && (h.version < a.min || h.version > a.max):
		return fmt.Errorf("%w: %v", errNotServed, h)
	case !c.session.allows(h.key, c.o.Now()):
		return fmt.Errorf("%w: %v", errNotLoggedIn, h)
	case !known:
		if err := c.process(ctx, h, api{answer: (*call).refuse}, body); err != nil {
			return err
		}
		return errRefused
	}
	if err := c.process(ctx, h, a, body); err != nil {
		return err
	}
	if c.session.failed {
		_ = pause.For(ctx, failurePause) // the connection ends either way
		return fmt.Errorf("%w: %v", errLoginFailed, h)
	}
	return nil
}

// failurePause is how long a client whose login failed waits for the end of its
// connection (connection.failed.authentication.delay.ms).
const failurePause = 100 * time.Millisecond

var (
	errNotServed = errors.New("a request that is not served here")
	errMalformed = errors.New("a malformed request")
	// errUnanswerable: its answer has no place for an error, or it has values that
	// are not known.
	errUnanswerable = errors.New("a request that cannot be answered")
	errTooLarge     = errors.New("a request that is too large")
	errIdle         = errors.New("idle for too long")
	errNotLoggedIn  = errors.New("a request of somebody who has not logged in")
	errLoginFailed  = errors.New("the login failed")
)

// process answers a request. Until the answer is encoded it holds its share of
// the memory that is for requests.
func (c *conn) process(ctx context.Context, h header, a api, body []byte) error {
	leave, err := c.take(ctx, len(body))
	if err != nil {
		return err
	}
	defer leave()
	q := kmsg.RequestForKey(h.key)
	q.SetVersion(h.version)
	if body, err = h.skipTags(body, q); err != nil {
		return err
	}
	if err := q.ReadFrom(body); err != nil { // kmsg calls it a response
		return fmt.Errorf("%w: %v: a length in its %d bytes goes beyond their end", errMalformed, h, len(body))
	}
	response := a.answer(c.newCall(h.version, c.broker, c.LocalAddr(), c.RemoteAddr(), &c.session), q)
	if response == nil {
		return fmt.Errorf("%w: %v", errUnanswerable, h)
	}
	c.encode(h, response)
	// While there is no room for what waits for slow readers, the share is not
	// given to somebody whose answer would need more of it.
	n := min(int64(len(*c.out)), maxPendingBytes)
	if err := c.pending.Acquire(ctx, n); err != nil {
		return err
	}
	defer c.pending.Release(n)
	leave()
	return c.send()
}

// take waits for a place, and for room for a request of so many bytes, which
// takes a hundred times as much once it is decoded, if it means harm. leave gives
// both back, once.
func (c *conn) take(ctx context.Context, size int) (leave func(), err error) {
	if err := c.places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := c.decoding.Acquire(ctx, int64(size)); err != nil {
		c.places.Release(1)
		return nil, err
	}
	return sync.OnceFunc(func() {
		c.decoding.Release(int64(size))
		c.places.Release(1)
	}), nil
}

// encode makes c.out, which send gives back.
func (c *conn) encode(h header, r kmsg.Response) {
	c.out = c.buffers.Get().(*[]byte)
	b := append((*c.out)[:0], 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(h.correlation))
	if r.IsFlexible() && r.Key() != apiVersionsKey { // whose header says nothing that a client might not know
		b = append(b, 0)
	}
	b = r.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	*c.out = b
}

func (c *conn) send() error {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.Write(*c.out)
	c.buffers.Put(c.out)
	c.out = nil
	return err
}

// keptBytes is how much memory of a request a connection keeps for the next one.
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
