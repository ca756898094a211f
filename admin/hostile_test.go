package admin

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// orders is what hostile clients find.
var orders = []string{
	`RegisterBrokerRecord {"brokerId":1,"brokerEpoch":1,"endPoints":[{"name":"INTERNAL","host":"b1.example","port":9092}]}`,
	`TopicRecord {"name":"orders","topicId":"$1"}`,
	`PartitionRecord {"topicId":"$1","partitionId":0,"replicas":[1],"isr":[1],"leader":1,"leaderEpoch":0}`,
}

// log keeps what a server says of its connections.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newHostile(tb testing.TB) (*endpoint, *log) {
	said := &log{}
	e := newEndpoint(tb, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(said, nil)) })
	e.Metadata(orders...)
	e.serve(tb)
	return e, said
}

func (e *endpoint) dial(tb testing.TB) net.Conn {
	c, err := net.Dial("tcp", e.address)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = c.Close() })
	require.NoError(tb, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c
}

// metadataRequest is what a client may send.
func metadataRequest() []byte {
	q := kmsg.NewPtrMetadataRequest()
	q.SetVersion(12)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("hostile")).AppendRequest(nil, q, 7)
}

func framed(body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// A client that sends something else than requests is cut off, with a line that
// says why, and nobody else notices.
func TestMalformed(t *testing.T) {
	whole := metadataRequest()
	for _, test := range []struct {
		name, want string
		sent       []byte
	}{
		{"a negative size", "-1 bytes", []byte{0xff, 0xff, 0xff, 0xff}},
		{"a size that is too large", "bytes, and may have", []byte{0x7f, 0, 0, 0}},
		{"a size that is too small", "bytes, and may have", []byte{0, 0, 0, 4, 0, 3, 0, 1}},
		{"another protocol", "bytes, and may have", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"a client id that is longer than the request", "client id", framed(0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff)},
		{"tagged fields that are not there", "tagged fields", framed(0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0x7f)},
		{"a body that is cut off", "Metadata (key 3) version 12", func() []byte {
			b := bytes.Clone(whole[:len(whole)-2])
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
			return b
		}()},
		{"an array without end", "Metadata (key 3) version 12", framed(append([]byte{0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0}, 0xff, 0xff, 0xff, 0xff, 0x0f)...)},
		{"a request that is not served, without its body", "CreateTopics (key 19) version 7", framed(0, 19, 0, 7, 0, 0, 0, 1, 0xff, 0xff, 0)},
		{"a key that is none", "key 999", framed(3, 231, 0, 0, 0, 0, 0, 1, 0xff, 0xff)},
		{"a version that is not served", "Metadata (key 3) version 99", framed(0, 3, 0, 99, 0, 0, 0, 1, 0xff, 0xff)},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, said := newHostile(t)
			c := e.dial(t)
			_, err := c.Write(test.sent)
			require.NoError(t, err)
			_, err = io.ReadAll(c)
			if err != nil {
				require.ErrorContains(t, err, "reset") // what it had sent beyond that was not read
			}
			require.Eventually(t, func() bool { return strings.Contains(said.String(), test.want) }, 10*time.Second, 5*time.Millisecond, "it said: %s", said)
			e.requireAnswers(t)
		})
	}
}

// requireAnswers asks for the metadata as a client does.
func (e *endpoint) requireAnswers(t testing.TB) {
	c := e.dial(t)
	_, err := c.Write(metadataRequest())
	require.NoError(t, err)
	var size [4]byte
	_, err = io.ReadFull(c, size[:])
	require.NoError(t, err)
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(c, body)
	require.NoError(t, err)
	r := kmsg.NewPtrMetadataResponse()
	r.SetVersion(12)
	require.NoError(t, r.ReadFrom(body[5:]))
	require.Len(t, r.Topics, 1)
}

// A version of ApiVersions that is not known is answered all the same, so that
// clients of any age find out what is.
func TestFutureApiVersions(t *testing.T) {
	e, _ := newHostile(t)
	c := e.dial(t)
	_, err := c.Write(framed(0, 18, 0, 99, 0, 0, 0, 5, 0xff, 0xff, 0))
	require.NoError(t, err)
	answer := make([]byte, 4+4+2+4+6)
	_, err = io.ReadFull(c, answer)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0, 16, 0, 0, 0, 5, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5}, answer)
}

// Many connections at once, half of which send nothing, half of one request:
// the others are answered, and nothing is left when they are gone.
func TestManyConnections(t *testing.T) {
	e, _ := newHostile(t)
	before := runtime.NumGoroutine()
	var idle []net.Conn
	for i := range 1000 {
		c, err := net.Dial("tcp", e.address)
		require.NoError(t, err)
		if i%2 == 0 {
			_, err = c.Write(metadataRequest()[:9])
			require.NoError(t, err)
		}
		idle = append(idle, c)
	}
	for range 20 {
		e.requireAnswers(t)
	}
	for _, c := range idle {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool {
		return e.server.Connections() <= 20
	}, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+25 }, 20*time.Second, 10*time.Millisecond)
}

// More connections than there may be are closed at once.
func TestTooManyConnections(t *testing.T) {
	e, said := newHostile(t)
	for range maxConnections {
		e.dial(t)
	}
	require.Eventually(t, func() bool {
		return e.server.Connections() == maxConnections
	}, 20*time.Second, 10*time.Millisecond)
	_, err := e.dial(t).Read(make([]byte, 1))
	require.Error(t, err)
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "too many connections") }, 5*time.Second, 5*time.Millisecond)
}

// Whatever a client sends, the server does not panic, and takes memory in
// proportion to what was sent.
func FuzzRequest(f *testing.F) {
	for key, a := range newAPIs() {
		for v := a.min; v <= a.max; v++ {
			q := kmsg.RequestForKey(key)
			q.SetVersion(v)
			f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("fuzz")).AppendRequest(nil, q, 1)[4:])
		}
	}
	e := newEndpoint(f, nil)
	e.Metadata(orders...)
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < minHeader {
			return
		}
		client, server := net.Pipe()
		c := &conn{Server: e.server, Conn: server, broker: -1, session: session{principal: anonymous}}
		done := make(chan error, 1)
		go func() { done <- c.serveOne(t.Context()) }()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		_, err := client.Write(framed(frame...))
		require.NoError(t, err)
		<-done
		_ = client.Close()
	})
}
