//go:build e2e && unix

package e2e

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
)

// rawConn is a connection to a broker, or to what answers like one, on which
// requests are sent in the versions that a test chooses.
type rawConn struct {
	t         testing.TB
	conn      net.Conn
	formatter *kmsg.RequestFormatter
	sent      int32
	login     sasl.Mechanism // nil: none
}

func dialRaw(t testing.TB, address string) *rawConn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &rawConn{t: t, conn: conn, formatter: kmsg.NewRequestFormatter(kmsg.FormatterClientID("wire"))}
}

// again is another connection to the same place, of the same client.
func (w *rawConn) again() *rawConn {
	n := dialRaw(w.t, w.conn.RemoteAddr().String())
	if w.login != nil {
		n.logIn(w.login)
	}
	return n
}

// ask sends a request and reads its answer.
func (w *rawConn) ask(q kmsg.Request) (kmsg.Response, error) {
	w.sent++
	if err := w.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := w.conn.Write(w.formatter.AppendRequest(nil, q, w.sent)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(w.conn, head[:]); err != nil {
		return nil, err
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != w.sent {
		return nil, fmt.Errorf("the answer is to request %d, not %d", got, w.sent)
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:])-4)
	if _, err := io.ReadFull(w.conn, body); err != nil {
		return nil, err
	}
	r := q.ResponseKind()
	if r.IsFlexible() && q.Key() != 18 {
		if body[0] != 0 {
			return nil, fmt.Errorf("the header has %d tagged fields", body[0])
		}
		body = body[1:]
	}
	return r, r.ReadFrom(body)
}

func (w *rawConn) must(q kmsg.Request) kmsg.Response {
	w.t.Helper()
	r, err := w.ask(q)
	require.NoError(w.t, err, "%s version %d", kmsg.NameForKey(q.Key()), q.GetVersion())
	return r
}

// versions are what the server says it serves.
func (w *rawConn) versions() map[int16]kmsg.ApiVersionsResponseApiKey {
	w.t.Helper()
	q := kmsg.NewPtrApiVersionsRequest()
	q.ClientSoftwareName, q.ClientSoftwareVersion = "wire", "1"
	q.SetVersion(3)
	keys := map[int16]kmsg.ApiVersionsResponseApiKey{}
	for _, k := range w.must(q).(*kmsg.ApiVersionsResponse).ApiKeys {
		keys[k.ApiKey] = k
	}
	return keys
}
