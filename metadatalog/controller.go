package metadatalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// requestTimeout is how long a controller may take to accept a connection, or
// to answer beyond the time that a long poll asks for.
const requestTimeout = 5 * time.Second

// maxAnswer bounds an answer. Batches of the metadata log have at most 8 MiB,
// and Kafka up to 4.2 reads up to 8 MiB whatever is asked for.
const maxAnswer = 32 << 20

// errHandshake stands for a second connection within one request, which kgo
// makes when the first one was closed while it was set up.
var errHandshake = errors.New("the connection was closed while it was set up")

// controller is the connection to one address. kgo frames requests, settles
// versions, and does TLS and SASL. When to ask, and whether again, is not its
// business: its retries are off, it may send nothing but the APIs below, and
// it gets a connection only for a request of ours. Controllers refuse METADATA,
// log an error and close the connection, and kgo would send it once an hour.
type controller struct {
	client *kgo.Client
	broker *kgo.Broker
	dial   DialFunc
	limit  *dialLimit
	// answers says that the last request was answered, so that another one
	// needs no new connection.
	answers bool
}

// apis are the requests that a controller is sent, and the highest version of
// each: ApiVersions and SASL are kgo's to set up a connection.
func apis() *kversion.Versions {
	v := new(kversion.Versions)
	v.SetMaxKeyVersion(int16(kmsg.Fetch), 18)
	v.SetMaxKeyVersion(int16(kmsg.FetchSnapshot), 1)
	v.SetMaxKeyVersion(int16(kmsg.ApiVersions), 4)
	v.SetMaxKeyVersion(int16(kmsg.SASLHandshake), 1)
	v.SetMaxKeyVersion(int16(kmsg.SASLAuthenticate), 2)
	return v
}

func newController(address string, dial DialFunc, limit *dialLimit, client []kgo.Opt) (*controller, error) {
	c := &controller{dial: dial, limit: limit}
	opts := append([]kgo.Opt{
		kgo.ClientID("kraftside"),
		kgo.SoftwareNameAndVersion("kraftside", "1"),
	}, client...)
	opts = append(opts,
		kgo.SeedBrokers(address),
		kgo.Dialer(c.connect),
		kgo.MaxVersions(apis()),
		kgo.RequestRetries(0),
		kgo.RequestTimeoutOverhead(requestTimeout),
		kgo.MetadataMinAge(time.Hour), kgo.MetadataMaxAge(time.Hour),
		kgo.DisableClientMetrics(),
		kgo.BrokerMaxReadBytes(maxAnswer), kgo.FetchMaxBytes(maxFetchBytes),
	)
	var err error
	if c.client, err = kgo.NewClient(opts...); err != nil {
		return nil, fmt.Errorf("client of controller %s: %w", address, err)
	}
	c.broker = c.client.SeedBrokers()[0]
	return c, nil
}

// attempt is the context value of a request: the one connection that may be
// made for it. kgo dials with the context of the request that needs it.
type attempt struct {
	dialed atomic.Bool
	err    error // of the dial
}

type attemptKey struct{}

// connect makes a connection for kgo. kgo would make up to six for one
// request when connections fail or are closed during their set-up; it gets
// one.
func (c *controller) connect(ctx context.Context, network, address string) (net.Conn, error) {
	a, ours := ctx.Value(attemptKey{}).(*attempt)
	if !ours {
		return nil, errors.New("not a request of the observer")
	}
	if a.dialed.Swap(true) {
		return nil, cmp.Or(a.err, errHandshake)
	}
	var conn net.Conn
	if a.err = c.limit.wait(ctx); a.err == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		conn, a.err = c.dial(ctx, network, address)
	}
	return conn, a.err
}

// request sends one request and waits for its answer.
func (c *controller) request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	// A connection that hangs is killed by its own timeouts; this one is for
	// a handshake that drags on step by step.
	ctx, cancel := context.WithTimeout(ctx, paceWindow+4*requestTimeout)
	defer cancel()
	resp, err := c.broker.Request(context.WithValue(ctx, attemptKey{}, new(attempt)), req)
	c.answers = err == nil
	return resp, err
}

func (c *controller) close() { c.client.Close() }
