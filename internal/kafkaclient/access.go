// Package kafkaclient makes connections to Kafka's servers as the configuration
// says, so that TLS, logins and their failures are dealt with in one place.
//
// Whatever it needs from files it reads when it needs it: certificates for
// every connection, passwords and tokens for every login. So secrets are
// rotated by replacing files, and a file that is missing or broken is the
// failure of one connection. Before such a failure no server is troubled.
package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/config"
)

// softwareName is what servers know this client as (KIP-511).
const softwareName = "kraftside"

// Access is how servers of one kind, brokers or controllers, are reached. Its
// methods may be called from any goroutine.
type Access struct {
	prefix   string // of the settings that are behind it, for advice
	security config.Security
	version  string
}

// New returns an Access that was configured under prefix, which is "kafka" or
// "controllers". Version is that of the program, in any form. No file is read.
func New(prefix string, s config.Security, version string) *Access {
	return &Access{prefix, s, acceptable(version)}
}

var notInVersion = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// acceptable makes a version that servers take: letters, digits, dots and
// dashes, with a letter or a digit at both ends. Others they refuse with
// INVALID_REQUEST.
func acceptable(version string) string {
	if v := strings.Trim(notInVersion.ReplaceAllString(version, "-"), ".-"); v != "" {
		return v
	}
	return "0"
}

// Options make a client say who it is, and log in. They go with Dial.
func (a *Access) Options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ClientID(softwareName),
		kgo.SoftwareNameAndVersion(softwareName, a.version),
	}
	if m := a.mechanism(); m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return opts
}

// NewClient returns a client of brokers that does no more than it is asked
// for: it repeats no request, and sends no metrics about itself. It connects
// when it is first used. The caller closes it.
func (a *Access) NewClient(bootstrap []string, more ...kgo.Opt) (*kgo.Client, error) {
	opts := append(a.Options(),
		kgo.SeedBrokers(bootstrap...),
		kgo.Dialer(a.Dial),
		kgo.RequestRetries(0),
		kgo.DisableClientMetrics(),
	)
	c, err := kgo.NewClient(append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("client of brokers %s: %w", strings.Join(bootstrap, ", "), err)
	}
	return c, nil
}

// errNoClusterID means that a broker does not say which cluster it is of, which
// none does that is Kafka 4.
var errNoClusterID = errors.New("the answer has no cluster id")

// ClusterID asks a broker which cluster it is of. It needs no ACL.
func ClusterID(ctx context.Context, client *kgo.Client) (string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none, where nil is all
	resp, err := req.RequestWith(ctx, client)
	if err == nil && (resp.ClusterID == nil || *resp.ClusterID == "") {
		err = errNoClusterID
	}
	if err != nil {
		return "", fmt.Errorf("ask a broker for its cluster id: %w", err)
	}
	return *resp.ClusterID, nil
}
