package simquorum

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// The API keys that are answered.
const (
	keyFetch         = 1
	keyApiVersions   = 18
	keyFetchSnapshot = 59
)

var errRefused = errors.New("connection refused")

// Dial connects to a controller; it is what the code under test dials by.
func (q *Quorum) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	q.mu.Lock()
	id, ok := q.addresses[address]
	if !ok {
		q.mu.Unlock()
		return nil, fmt.Errorf("dial %s: no such host", address)
	}
	c := q.controllers[id]
	c.seen.Connections = append(c.seen.Connections, time.Now())
	fault := c.fault
	q.mu.Unlock()

	switch fault.Kind {
	case RefuseConnections:
		return nil, fmt.Errorf("dial %s: %w", address, errRefused)
	case DropPackets:
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s: %w", address, ctx.Err())
		case <-q.closed:
			return nil, net.ErrClosed
		}
	}
	client, server := net.Pipe()
	if fault.Kind == CloseOnAccept {
		server.Close()
		return client, nil
	}
	q.mu.Lock()
	q.conns[server] = id
	q.mu.Unlock()
	go q.serve(server, c)
	return client, nil
}

// serve answers the requests of one connection in order.
func (q *Quorum) serve(conn net.Conn, c *controller) {
	defer func() {
		conn.Close()
		q.mu.Lock()
		delete(q.conns, conn)
		q.mu.Unlock()
	}()
	for {
		r, err := readRequest(conn)
		if err != nil {
			return
		}
		answer := q.answer(c, r)
		if answer == nil {
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// request is a request as it came in. body is nil for an API that controllers
// do not serve.
type request struct {
	correlation int32
	key         int16
	body        kmsg.Request
}

func readRequest(r io.Reader) (request, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return request{}, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return request{}, err
	}
	w := wire.NewReader(b)
	key, version, correlation := w.Int16(), w.Int16(), w.Int32()
	if n := w.ShortLen(); n > 0 { // client id
		w.Raw(n)
	}
	req := request{correlation: correlation, key: key}
	if key != keyFetch && key != keyApiVersions && key != keyFetchSnapshot {
		return req, w.Err()
	}
	req.body = kmsg.RequestForKey(key)
	req.body.SetVersion(version)
	if req.body.IsFlexible() {
		w.Uvarint() // no tags in the header
	}
	if err := w.Err(); err != nil {
		return req, err
	}
	return req, req.body.ReadFrom(w.Rest())
}

// answer is what goes back, framed, or nil to close the connection.
func (q *Quorum) answer(c *controller, r request) []byte {
	if r.key == keyApiVersions {
		return frame(r, q.apiVersions(r.body.(*kmsg.ApiVersionsRequest)))
	}
	q.mu.Lock()
	if r.body == nil {
		c.seen.Foreign = append(c.seen.Foreign, r.key)
		q.mu.Unlock()
		return nil
	}
	c.seen.Requests = append(c.seen.Requests, time.Now())
	fault := c.faultFor(r.key)
	q.mu.Unlock()
	switch fault.Kind {
	case CloseOnRequest:
		return nil
	case Stall:
		<-q.closed
		return nil
	case Garbage:
		return append(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, uint32(r.correlation)), 1, 2, 3, 4)
	}
	if req, ok := r.body.(*kmsg.FetchRequest); ok {
		return frame(r, q.fetch(c, fault, req))
	}
	return frame(r, q.fetchSnapshot(c, fault, r.body.(*kmsg.FetchSnapshotRequest)))
}

// faultFor is how a request of this API is to be answered. The lock is held.
func (c *controller) faultFor(key int16) Fault {
	f := &c.fault
	switch {
	case f.API == FetchOnly && key != keyFetch, f.API == FetchSnapshotOnly && key != keyFetchSnapshot:
		return Fault{}
	case f.After > 0:
		f.After--
		return Fault{}
	}
	return *f
}

func frame(r request, resp kmsg.Response) []byte {
	b := wire.AppendInt32(make([]byte, 4), r.correlation)
	if r.key != keyApiVersions && resp.IsFlexible() {
		b = wire.AppendUvarint(b, 0)
	}
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// apiVersions answers as a controller does, of which ApiVersions is served up
// to version 4.
func (q *Quorum) apiVersions(req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version > 4 {
		resp.Version, resp.ErrorCode = 0, kerr.UnsupportedVersion.Code
	}
	for _, k := range []struct{ key, low, high int16 }{
		{keyFetch, 4, q.config.FetchVersion}, {keyApiVersions, 0, 4}, {55, 0, 2}, {keyFetchSnapshot, 0, 1}, {60, 0, 2},
	} {
		e := kmsg.NewApiVersionsResponseApiKey()
		e.ApiKey, e.MinVersion, e.MaxVersion = k.key, k.low, k.high
		resp.ApiKeys = append(resp.ApiKeys, e)
	}
	return resp
}

// named is the leader as a controller names it, with its endpoint. A
// controller that names itself does so in an epoch that rises each time. The
// lock is held.
func (q *Quorum) named(c *controller, f Fault) (kafka.NodeID, kafka.Epoch, endpoint) {
	leader, epoch := q.leader, q.epoch
	if f.Kind == NamesItself {
		leader, epoch = c.id, q.epoch+kafka.Epoch(len(c.seen.Requests))
	}
	if f.Kind == AnswerAsBroker {
		leader, epoch = kafka.NoNode, kafka.UnknownEpoch
	}
	if leader == kafka.NoNode {
		return leader, epoch, endpoint{}
	}
	return leader, epoch, parseEndpoint(q.controllers[leader].advertised)
}

type endpoint struct {
	host string
	port int32
}

func parseEndpoint(address string) (e endpoint) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		panic(err)
	}
	e.host = host
	if _, err := fmt.Sscan(port, &e.port); err != nil {
		panic(err)
	}
	return e
}
