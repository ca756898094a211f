package sidecar

import (
	"context"
	"fmt"

	"github.com/kraftside/kraftside/admin"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web"
	"github.com/kraftside/kraftside/web/api"
)

// adminEndpoint serves Kafka's protocol, if it is to.
type adminEndpoint struct {
	listening
	sidecar *Sidecar
	server  *admin.Server
}

func (s *Sidecar) newAdmin() (*adminEndpoint, error) {
	c := &s.config.Admin
	o := admin.Options{
		View:             s.View,
		Offsets:          func(group string) []groups.CommittedOffset { return s.pipeline.Offsets(group) },
		ClusterID:        s.ClusterID,
		FirstPort:        c.PortPerBroker,
		MaxStaleness:     c.MaxStaleness,
		SyntheticConfigs: c.SyntheticConfigs,
		OnRequest:        s.meter.OnAdminRequest,
		Log:              s.log,
		Login: admin.Login{
			Mechanisms: c.SASL.Mechanisms,
			UsersFile:  c.SASL.UsersFile,
			Tokens:     admin.Tokens(c.SASL.Tokens),
			TLS:        admin.TLSFiles{Cert: c.TLS.CertFile, Key: c.TLS.KeyFile, ClientCA: c.TLS.ClientCAFile},
		},
		Authorizer: admin.Authorizer{SuperUsers: c.SuperUsers, AllowIfNoACL: c.AllowIfNoACL},
	}
	if s.advertisesPeers() {
		o.Peer = s.adminPeer
	}
	server, err := admin.New(o)
	if err != nil {
		return nil, fmt.Errorf("admin endpoint: %w", err)
	}
	return &adminEndpoint{sidecar: s, server: server}, nil
}

func (s *Sidecar) advertisesPeers() bool {
	if s.config.Admin.Advertise == config.AdvertiseAuto {
		return s.scope == pipeline.Local
	}
	return s.config.Admin.Advertise == config.AdvertisePeers
}

// adminPeer is the admin endpoint beside a broker: on the host where its
// sidecar is, and on our port.
func (s *Sidecar) adminPeer(b *image.Broker) (host string, port int32) {
	peers := web.Peers{Listener: s.config.Peers.Listener, Address: s.config.Peers.Address}
	return peers.Host(b), int32(portOf(s.config.Admin.Listen))
}

// run serves until ctx ends.
func (e *adminEndpoint) run(ctx context.Context) {
	if at := e.sidecar.config.Admin.Listen; at != "" {
		e.listening.run(ctx, at, e.sidecar.log, "admin endpoint", "admin endpoint", e.server.Serve)
	}
}

// reasons say why the sidecar is not ready.
func (e *adminEndpoint) reasons() []api.Reason {
	why := e.failed.Load()
	if why == nil {
		return nil
	}
	return []api.Reason{{
		What: "the admin endpoint does not listen: " + *why,
		Do:   "end what uses the port, or set admin.listen to another one, or to nothing",
	}}
}
