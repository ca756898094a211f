package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// client asks peers.
type client struct {
	Peers
	guard *guard
	http  http.Client
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
}

func newClient(o Peers, g *guard) (*client, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &client{Peers: o, guard: g, dial: new(net.Dialer).DialContext}
	c.http = http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return c.dial(ctx, network, address)
			},
			DialTLSContext:      c.dialTLS,
			DisableCompression:  true,
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     30 * time.Second,
		},
		// A token is for the peer, not for where the peer points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// dialTLS makes a connection with the certificates of the files as they are
// now.
func (c *client) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := c.guard.clientTLS()
	if config.ServerName, _, err = net.SplitHostPort(address); err == nil {
		secured := tls.Client(conn, config)
		if err = secured.HandshakeContext(ctx); err == nil {
			return secured, nil
		}
	}
	return nil, errors.Join(err, conn.Close())
}

// answer is what one peer said, or why it said nothing.
type answer struct {
	peer peer
	body []byte
	err  error
}

// asking is a question to all peers that is under way.
type asking struct {
	peers   []peer
	answers chan answer
	cancel  context.CancelFunc
	missing []api.Missing // who could not be asked
}

// ask asks every peer of the view for a path of /v1, all at once. Together
// their answers should not have more than the given bytes. Nobody is asked for
// a request that is to be answered by this sidecar alone.
func (c *client) ask(r *http.Request, v *pipeline.View, path string, q url.Values, bytes int) *asking {
	return c.post(r, v, path, q, bytes, nil)
}

// post is ask with a body, unless that is nil.
func (c *client) post(r *http.Request, v *pipeline.View, path string, q url.Values, bytes int, body []byte) *asking {
	a := &asking{cancel: func() {}}
	if isLocal(r) {
		return a
	}
	a.peers, a.missing = c.find(v)
	a.answers = make(chan answer, len(a.peers))
	ctx, cancel := context.WithTimeout(r.Context(), c.Timeout)
	a.cancel = cancel
	target := path + "?" + peerQuery(q, bytes/max(len(a.peers), 1)).Encode()
	places := make(chan struct{}, maxAsked)
	for _, p := range a.peers {
		go func() {
			select {
			case places <- struct{}{}:
				answered, err := c.request(ctx, p, target, nodeText(v.NodeID), body)
				a.answers <- answer{p, answered, err}
				<-places
			case <-ctx.Done():
				a.answers <- answer{p, nil, c.explain(p, ctx.Err())}
			}
		}()
	}
	return a
}

// peerQuery is the query for peers: ours, and how much each may answer.
func peerQuery(q url.Values, bytes int) url.Values {
	out := url.Values{"local": {"true"}, "bytes": {strconv.Itoa(max(bytes, minPageBytes))}}
	for name, values := range q {
		if _, ours := out[name]; !ours {
			out[name] = values
		}
	}
	return out
}

// each takes the answers as they come, until take says that it wants no more.
// An error that take returns is why the peer counts as one that did not
// answer: its own, or what is wrong with what it said. Those are returned, by
// broker.
func (a *asking) each(take func(answer) (more bool, err error)) []api.Missing {
	defer a.cancel()
	missing := append([]api.Missing{}, a.missing...)
	for range a.peers {
		got := <-a.answers
		more, err := take(got)
		if err != nil {
			missing = append(missing, api.Missing{Broker: got.peer.broker, Host: got.peer.host, Error: err.Error()})
		}
		if !more {
			break
		}
	}
	slices.SortFunc(missing, func(a, b api.Missing) int { return cmp.Compare(a.Broker, b.Broker) })
	return missing
}

// parsed takes the good answers of those who answered.
func (a *asking) parsed(take func(answer) error) []api.Missing {
	return a.each(func(got answer) (bool, error) {
		if got.err != nil {
			return true, got.err
		}
		return true, take(got)
	})
}

// refusal is an answer that is an error.
type refusal struct {
	status int
	body   api.ErrorBody
}

func (r *refusal) Error() string {
	if r.body.Message == "" {
		return fmt.Sprintf("answered with status %d", r.status)
	}
	return fmt.Sprintf("answered with status %d: %.300s", r.status, r.body.Message)
}

var errTooLarge = errors.New("the answer is too large")

// request makes one request to one peer, with a body unless that is nil.
func (c *client) request(ctx context.Context, p peer, target, asker string, sent []byte) ([]byte, error) {
	method := http.MethodGet
	if sent != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, c.scheme()+"://"+p.address+target, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	// Nothing is changed by asking: on a kept connection that the peer has ended
	// meanwhile, net/http asks again on another one. For a POST it wants to be told
	// so, by a header that without a value is not sent.
	r.Header["Idempotency-Key"] = nil
	r.Header.Set(peerHeader, asker)
	if c.guard.tokens != nil {
		r.Header.Set("Authorization", "Bearer "+c.guard.tokens.Get()[0].text)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, c.explain(p, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPeerBytes+1))
	switch {
	case err != nil:
		return nil, c.explain(p, err)
	case response.StatusCode != http.StatusOK:
		refused := &refusal{status: response.StatusCode}
		var parsed api.Error
		if json.Unmarshal(body, &parsed) == nil {
			refused.body = parsed.Error
		}
		return nil, refused
	case len(body) > maxPeerBytes:
		return nil, errTooLarge
	}
	return body, nil
}

func (c *client) scheme() string {
	if c.guard.keyPair != nil {
		return "https"
	}
	return "http"
}

// explain leaves out what the list of missing sidecars says anyway.
func (c *client) explain(p peer, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer from %s within %v", p.address, c.Timeout)
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
