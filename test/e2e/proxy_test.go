//go:build e2e && unix

package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
)

// proxy stands between a sidecar and all servers of a cluster, and records what
// the sidecar asks. Answers that name brokers name the proxy instead.
type proxy struct {
	bootstrap, controllers []string
	ports                  map[int32]int32 // of a server's own port, the proxy's
	wait                   sync.WaitGroup

	mu    sync.Mutex
	asked []kmsg.Request
	bad   []error
	conns []net.Conn
}

func (w *world) proxy(t *testing.T) *proxy {
	p := &proxy{ports: map[int32]int32{}}
	for _, address := range w.Bootstrap() {
		p.bootstrap = append(p.bootstrap, p.listen(t, address))
	}
	for i, address := range w.ControllerBootstrap() {
		p.controllers = append(p.controllers, fmt.Sprintf("%d@%s", w.ControllerIDs()[i], p.listen(t, address)))
	}
	return p
}

// between puts the proxy between a sidecar and the cluster.
func (p *proxy) between(c *config.Config) {
	c.Metadata.Controllers, c.Kafka.Bootstrap = p.controllers, p.bootstrap
}

// listen opens a port that leads to a server's.
func (p *proxy) listen(t *testing.T, server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.ports[port(server)] = port(l.Addr().String())
	p.wait.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.serve(client, server) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		p.end(t)
	})
	return l.Addr().String()
}

func (p *proxy) end(t *testing.T) {
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
	bad := p.bad
	p.mu.Unlock()
	require.Empty(t, bad, "messages that the proxy cannot read")
}

func port(address string) int32 {
	_, text, _ := net.SplitHostPort(address)
	n, _ := strconv.ParseInt(text, 10, 32)
	return int32(n)
}

// serve carries one connection.
func (p *proxy) serve(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return // as if nobody listened
	}
	defer server.Close()
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	// A server answers the requests of a connection in their order.
	open := make(chan kmsg.Request, 1000)
	p.wait.Go(func() {
		defer client.Close()
		for {
			message, err := readMessage(server)
			if err != nil {
				return
			}
			if message, err = p.answer(<-open, message); err != nil {
				p.fail(err)
				return
			}
			if writeMessage(client, message) != nil {
				return
			}
		}
	})
	for {
		message, err := readMessage(client)
		if err != nil {
			return
		}
		req, err := p.request(message)
		if err != nil {
			p.fail(err)
			return
		}
		open <- req
		if writeMessage(server, message) != nil {
			return
		}
	}
}

func (p *proxy) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad = append(p.bad, err)
}

func readMessage(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, message)
	return message, err
}

func writeMessage(w io.Writer, message []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}

// request decodes and records a request.
func (p *proxy) request(message []byte) (kmsg.Request, error) {
	b := kbin.Reader{Src: message}
	key, version := b.Int16(), b.Int16()
	b.Int32() // correlation id
	b.NullableString()
	req := kmsg.RequestForKey(key)
	if req == nil {
		return nil, fmt.Errorf("request with key %d", key)
	}
	req.SetVersion(version)
	if req.IsFlexible() {
		kmsg.SkipTags(&b)
	}
	if err := errors.Join(b.Complete(), req.ReadFrom(b.Src)); err != nil {
		return nil, fmt.Errorf("read %s version %d: %w", kmsg.NameForKey(key), version, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, req)
	return req, nil
}

// answer makes an answer name the proxy's ports.
func (p *proxy) answer(req kmsg.Request, message []byte) ([]byte, error) {
	switch req.(type) {
	case *kmsg.MetadataRequest, *kmsg.DescribeClusterRequest:
	default:
		return message, nil
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	b := kbin.Reader{Src: message}
	b.Int32()
	if resp.IsFlexible() {
		kmsg.SkipTags(&b)
	}
	head := message[:len(message)-len(b.Src)]
	if err := resp.ReadFrom(b.Src); err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", kmsg.NameForKey(req.Key()), err)
	}
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		for i := range r.Brokers {
			r.Brokers[i].Port = p.ports[r.Brokers[i].Port]
		}
	case *kmsg.DescribeClusterResponse:
		for i := range r.Brokers {
			r.Brokers[i].Port = p.ports[r.Brokers[i].Port]
		}
	}
	return resp.AppendTo(head[:len(head):len(head)]), nil
}

// requests lists what was asked with a key, oldest first.
func (p *proxy) requests(key int16) (all []kmsg.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if r.Key() == key {
			all = append(all, r)
		}
	}
	return all
}

func (p *proxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = nil
}

// metadataFetches lists from where the metadata log was fetched. The request
// that only asks who leads is not among them: it has epoch 0.
func (p *proxy) metadataFetches() (all []metadatalog.Position) {
	for _, r := range p.requests(kmsg.NewPtrFetchRequest().Key()) {
		for _, topic := range r.(*kmsg.FetchRequest).Topics {
			if topic.TopicID == kafka.MetadataTopicID && topic.Partitions[0].CurrentLeaderEpoch > 0 {
				one := topic.Partitions[0]
				all = append(all, metadatalog.Position{Offset: kafka.Offset(one.FetchOffset), Epoch: kafka.Epoch(one.LastFetchedEpoch)})
			}
		}
	}
	return all
}

// groupFetches lists the first offset that was fetched of each partition of
// __consumer_offsets.
func (p *proxy) groupFetches() map[int32]kafka.Offset {
	first := map[int32]kafka.Offset{}
	for _, r := range p.requests(kmsg.NewPtrFetchRequest().Key()) {
		for _, topic := range r.(*kmsg.FetchRequest).Topics {
			for _, one := range topic.Partitions {
				if _, seen := first[one.Partition]; !seen && topic.TopicID != kafka.MetadataTopicID {
					first[one.Partition] = kafka.Offset(one.FetchOffset)
				}
			}
		}
	}
	return first
}
