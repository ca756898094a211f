package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// Peers says where the sidecars of the other brokers are. They are taken to be
// configured like this one: they are asked with TLS if this one serves TLS,
// with its certificate, and with its token.
type Peers struct {
	// Listener is the name of the brokers' listener on whose host their
	// sidecars are. It may be empty if all listeners of a broker are on one.
	Listener string
	// Port is the one that this sidecar listens on, and so its peers.
	Port int
	// Address, if not empty, is HOST or HOST:PORT of a peer, with {host} for
	// the broker's host and {id} for its node id.
	Address string
	// Timeout is for all peers together, asked at once; 2 s if 0.
	Timeout time.Duration
}

const (
	defaultPeerTimeout = 2 * time.Second

	// maxAsked bounds the requests to peers at a time, for one answer.
	maxAsked = 64

	// maxPeerBytes bounds what is taken of one peer. Peers keep to a part of
	// maxPageBytes, but for a single group that is larger.
	maxPeerBytes = 16 << 20
)

// peer is the sidecar of a broker.
type peer struct {
	broker  kafka.NodeID
	host    string
	address string // HOST:PORT
}

var (
	errAddress    = errors.New("peers.address: want HOST or HOST:PORT, in which {host} and {id} stand for the broker's")
	errNoPort     = errors.New("the port of its sidecar is not known; set peers.address")
	errNoListener = errors.New("the broker has no such listener; set peers.listener or peers.address")
	errWhichHost  = errors.New("the broker's listeners are on different hosts; set peers.listener or peers.address")
	errBadHost    = errors.New("not a host")
)

func (o *Peers) validate() error {
	if o.Timeout == 0 {
		o.Timeout = defaultPeerTimeout
	}
	if o.Address == "" {
		return nil
	}
	if _, err := o.locate(1, "host"); errors.Is(err, errBadHost) {
		return fmt.Errorf("%w: %q", errAddress, o.Address)
	}
	return nil
}

// find lists the sidecars of all registered brokers but our own, by broker,
// and those for whom the registration gives no address. With scope all there
// is nothing to ask others for.
func (o *Peers) find(v *pipeline.View) (found []peer, missing []api.Missing) {
	if v.Scope == pipeline.All {
		return nil, nil
	}
	for b := range v.Image.Cluster().Brokers() {
		if b.ID == v.NodeID {
			continue
		}
		host, err := o.hostOf(b)
		p := peer{broker: b.ID, host: host}
		if err == nil {
			p.address, err = o.locate(b.ID, host)
		}
		if err != nil {
			missing = append(missing, api.Missing{Broker: b.ID, Host: host, Error: err.Error()})
			continue
		}
		found = append(found, p)
	}
	return found, missing
}

// Host is the host of a broker's sidecar for those who bring no secret there:
// where it is not known, it is that of one of the broker's listeners.
func (o *Peers) Host(b *image.Broker) string {
	host, err := o.hostOf(b)
	if err == nil && o.Address != "" {
		at := *o
		at.Port = 1 // any: the host is asked for
		if address, wrong := at.locate(b.ID, host); wrong == nil {
			host, _, err = net.SplitHostPort(address)
		}
	}
	if err != nil && len(b.EndPoints) > 0 {
		return b.EndPoints[0].Host
	}
	return host
}

// hostOf is the host of a broker's sidecar. It is not guessed: what is sent
// there may hold a token.
func (o *Peers) hostOf(b *image.Broker) (host string, err error) {
	if o.Address != "" && !strings.Contains(o.Address, "{host}") {
		return "", nil // nothing depends on it
	}
	for _, e := range b.EndPoints {
		switch {
		case o.Listener == e.Name:
			return e.Host, nil
		case o.Listener == "" && host != "" && host != e.Host:
			return "", errWhichHost
		case o.Listener == "":
			host = e.Host
		}
	}
	if host == "" {
		return "", fmt.Errorf("listener %.100q: %w", o.Listener, errNoListener)
	}
	return host, nil
}

// locate is the address of the sidecar beside a broker.
func (o *Peers) locate(id kafka.NodeID, host string) (address string, err error) {
	port := strconv.Itoa(o.Port)
	if o.Address != "" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		host = strings.NewReplacer("{host}", host, "{id}", nodeText(id)).Replace(o.Address)
		if h, p, err := net.SplitHostPort(host); err == nil {
			host, port = h, p
		}
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if !isHost(host) {
		return "", fmt.Errorf("%w: %.100q", errBadHost, host)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%w: port %.20q", errBadHost, port)
	} else if n == 0 {
		return "", errNoPort
	}
	return net.JoinHostPort(host, port), nil
}

// isHost says whether a name that came from a registration can stand in a URL
// as its host, and as nothing else.
func isHost(s string) bool {
	if strings.Contains(s, ":") {
		_, err := netip.ParseAddr(s)
		return err == nil
	}
	return s != "" && len(s) <= 255 && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_", r))
	}) < 0
}
