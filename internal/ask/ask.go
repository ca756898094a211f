// Package ask asks sidecars over HTTP what they know, for the commands that
// show it.
//
// A Client asks all the servers that it was given, at once, follows the pages
// of their lists to the end, and makes one answer of what they say. A server
// that does not answer is listed as missing beside the peers that the others
// could not reach; only if nobody answers the question fails. Errors have the
// exit codes of package cli, and say what to do.
//
// What a server sends is not trusted: neither its size nor its order, nor that
// it comes to an end.
package ask

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// DefaultServer is where a sidecar listens on this host.
const DefaultServer = "http://127.0.0.1:9464"

// DefaultTimeout is long enough for a sidecar that waits for a peer which does
// not answer it.
const DefaultTimeout = 15 * time.Second

// Config says whom to ask, and how.
type Config struct {
	// Servers are URLs; without a scheme it is http.
	Servers []string
	// Timeout is for one request, the answer included; DefaultTimeout if 0.
	Timeout time.Duration
	// TokenFile holds the bearer token in its first line. It is read anew for
	// every request.
	TokenFile string
	// CAFile has the authorities that a server's certificate is checked
	// against, instead of the system's. CertFile and KeyFile are what a server
	// with mTLS wants to see. All are PEM.
	CAFile, CertFile, KeyFile string
	// ServerName is the name that the certificate has to be for, if that is
	// not the host of the URL, as behind a port-forward.
	ServerName string
	// Transport carries the requests, if not the network.
	Transport http.RoundTripper
}

// Client asks sidecars. Its methods may be called from any goroutine.
type Client struct {
	config  Config
	servers []*server
	http    http.Client
	// Limits, in bytes, on one answer and on all the pages of a list.
	maxAnswer, maxList int64
}

const (
	// A page of a list has 4 MiB, and at least one group, whose members and
	// their assignments Kafka keeps in records of at most 1 MiB each.
	maxAnswer = 64 << 20
	maxList   = 1 << 30
)

// New returns a client. Its error is about the configuration.
func New(c Config) (*Client, error) {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	client := &Client{config: c, maxAnswer: maxAnswer, maxList: maxList}
	for _, text := range c.Servers {
		s, err := parseServer(text)
		if err != nil {
			return nil, err
		}
		client.servers = append(client.servers, s)
	}
	if len(client.servers) == 0 {
		return nil, cli.Errorf(cli.BadUsage, "--server: it is empty; give the URL of a sidecar, such as %s", DefaultServer)
	}
	transport, err := newTransport(&c)
	if err != nil {
		return nil, err
	}
	client.http = http.Client{
		Transport: transport,
		// A token is for the server that was named, not for where that points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, nil
}

// result is what one server said, or why it said nothing.
type result[T any] struct {
	server *server
	answer T
	err    error
}

// each asks every server at once. The results are in the order of servers.
func each[T any](ctx context.Context, c *Client, ask func(context.Context, *server) (T, error)) []result[T] {
	results := make([]result[T], len(c.servers))
	var asked sync.WaitGroup
	for i, s := range c.servers {
		asked.Go(func() {
			answer, err := ask(ctx, s)
			results[i] = result[T]{s, answer, err}
		})
	}
	asked.Wait()
	return results
}

// split parts those who answered from those who did not, who are missing if
// anybody answered. Otherwise the question failed.
func split[T any](results []result[T]) (answers []T, missing []api.Missing, err error) {
	var errs []error
	for _, r := range results {
		switch {
		case r.err == nil:
			answers = append(answers, r.answer)
			continue
		case !isNotFound(r.err):
			missing = append(missing, api.Missing{Broker: kafka.NoNode, Host: r.server.base.Host, Error: r.err.Error()})
		}
		errs = append(errs, r.err)
	}
	if len(answers) == 0 {
		return nil, nil, leastKnowing(errs)
	}
	return answers, missing, nil
}

func isNotFound(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.body.Code == codeNotFound
}

// leastKnowing is why nobody has something: the reasons for which it may exist
// all the same, or if there are none, that it does not.
func leastKnowing(errs []error) error {
	var open []error
	for _, err := range errs {
		if !isNotFound(err) {
			open = append(open, err)
		}
	}
	if len(open) == 0 {
		return errs[0]
	}
	return errors.Join(open...)
}

// oneCluster checks that all servers are of one cluster, as far as they tell:
// what others say must not be taken for one answer.
func (c *Client) oneCluster(ctx context.Context) error {
	if len(c.servers) == 1 {
		return nil
	}
	var first *server
	cluster := ""
	for _, r := range each(ctx, c, func(ctx context.Context, s *server) (api.Status, error) {
		var status api.Status
		_, err := c.get(ctx, s, "/status", url.Values{"local": {"true"}}, &status)
		return status, err
	}) {
		switch id := r.answer.ClusterID; {
		case r.err != nil || id == nil: // who does not answer will be missing
		case first == nil:
			first, cluster = r.server, *id
		case *id != cluster:
			return cli.Errorf(cli.BadUsage, "--server: %s is of cluster %s and %s of %s; ask one cluster at a time",
				first, cluster, r.server, *id)
		}
	}
	return nil
}
