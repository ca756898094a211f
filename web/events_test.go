package web

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// listening is a sidecar that serves on a loopback address, until stop is
// called.
type listening struct {
	*sidecar
	events  *Events
	address string
	stop    func()
}

func newListening(t *testing.T) *listening {
	l := &listening{events: NewEvents()}
	o := pipeline.Options{Scope: pipeline.All, OnChange: l.events.OnChange, OnRebalance: l.events.OnRebalance}
	l.sidecar = newScenario(t).add(kafka.NoNode, o, func(o *Options) { o.Events = l.events })
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.address = "http://" + socket.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- l.server.Serve(ctx, socket) }()
	stopped := false
	l.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-served)
		}
	}
	t.Cleanup(l.stop)
	return l
}

// listen begins to read events.
func (l *listening) listen(t *testing.T) *stream {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.address+"/v1/events", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	t.Cleanup(func() { _ = resp.Body.Close() })
	s := &stream{t, bufio.NewScanner(resp.Body)}
	require.Equal(t, ": listening", s.next())
	return s
}

type stream struct {
	t     *testing.T
	lines *bufio.Scanner
}

// next is all lines up to an empty one; "" at the end.
func (s *stream) next() string {
	var lines []string
	for s.lines.Scan() && s.lines.Text() != "" {
		lines = append(lines, s.lines.Text())
	}
	return strings.Join(lines, "\n")
}

// What happens is streamed as it happens, until the server stops, which does not
// wait for who listens.
func TestEvents(t *testing.T) {
	l := newListening(t)
	s := l.listen(t)
	l.Metadata(
		`TopicRecord {"name":"__consumer_offsets","topicId":"$9"}`,
		`PartitionRecord {"topicId":"$9","partitionId":0,"replicas":[1],"isr":[1],"leader":1}`,
	)
	change := s.next()
	require.Contains(t, change, "event: change\ndata: {")
	require.Contains(t, change, `"offset":1,`)
	require.Contains(t, change, `"summary":"topic __consumer_offsets is created with 1 partition"`)
	l.Groups(0, `5 {"groupId":"g","memberId":"m1"} {"clientHost":"/10.0.0.1"}`, `3 {"groupId":"g"} {"epoch":1}`)
	bump := s.next()
	require.Contains(t, bump, "event: rebalance\ndata: {")
	require.Contains(t, bump, `"group":"g"`)
	for !strings.Contains(bump, `"settled":true`) {
		bump = s.next()
	}

	other := l.listen(t)
	l.stop()
	require.Empty(t, s.next()+other.next())
}

// Whoever is too slow is told so and sent away; nobody waits for it.
func TestSlowListener(t *testing.T) {
	l := newListening(t)
	slow := l.events.listen()
	for range maxNews + 10 {
		l.events.OnRebalance(&rebalance.Rebalance{})
	}
	require.Empty(t, l.events.listeners)
	n := 0
	for range slow.news {
		n++
	}
	require.Equal(t, maxNews, n)
	require.True(t, slow.lost)

	s := l.listen(t)
	l.events.mu.Lock()
	for waiting := range l.events.listeners {
		waiting.lost = true
		l.events.end(waiting)
	}
	l.events.mu.Unlock()
	require.Equal(t, "event: lost\ndata: {}", s.next())
	require.Empty(t, s.next())
}

func TestTooManyListeners(t *testing.T) {
	l := newListening(t)
	for range maxListeners {
		require.NotNil(t, l.events.listen())
	}
	resp, err := http.Get(l.address + "/v1/events")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
	l.events.OnChange(&history.Entry{})
	l.stop()
	require.Nil(t, l.events.listen(), "it has stopped")
}
