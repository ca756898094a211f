//go:build e2e && unix

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafkaclient"
)

// misfit is a configuration that does not fit a listener, and how what is said
// about it begins.
type misfit struct {
	name     string
	plain    bool // the listener without security
	security config.Security
	advice   string
}

func (s *securedCluster) misfits(t *testing.T) []misfit {
	off, none := config.TLS{Enabled: config.Off}, config.SASL{Mechanism: config.NoSASL}
	s.files.writeCertificate(t, "stranger", selfSigned(t))
	trusting, other, elsewhere := s.trusting(), s.trusting(), s.withCertificate("ours")
	other.CAFile = s.files.path("stranger.cert")
	elsewhere.TLS.ServerName = "elsewhere"
	password := config.SASL{Mechanism: config.Plain, Username: "u", PasswordFile: s.files.write(t, "password", []byte("p"))}
	all := []misfit{
		{"plaintext to TLS", false, config.Security{TLS: off, SASL: none}, "the listener wants TLS, it seems"},
		{"TLS to plaintext", true, config.Security{TLS: trusting, SASL: none}, "the listener does not speak TLS, it seems"},
		{"SASL to none", true, config.Security{TLS: off, SASL: password}, "the listener takes no login"},
		{"authority", false, config.Security{TLS: other, SASL: none}, "the server's certificate is signed by nobody who is trusted"},
		{"server name", false, elsewhere, "the server's certificate is for another name"},
		{"client certificate", false, s.withCertificate("stranger"), "the server does not accept the client certificate"},
	}
	if s.logins[0].security.SASL.Mechanism == config.NoSASL {
		return append(all,
			misfit{"no client certificate", false, config.Security{TLS: trusting, SASL: none}, "the listener wants a client certificate"},
			misfit{"SASL to mTLS", false, config.Security{TLS: elsewhere.TLS, SASL: password}, "the server's certificate is for another name"},
		)
	}
	return append(all,
		misfit{"no login", false, config.Security{TLS: trusting, SASL: none}, "the server closed the connection at the first request"},
		misfit{"wrong password", false, config.Security{TLS: trusting, SASL: password}, `the login as "u" was refused`},
	)
}

// advice is right at brokers and at controllers.
func (s *securedCluster) advice(t *testing.T) {
	for _, m := range s.misfits(t) {
		t.Run(m.name, func(t *testing.T) {
			brokers, controllers := s.SecuredBootstrap(), s.SecuredControllerBootstrap()
			if m.plain {
				brokers, controllers = s.Bootstrap(), s.ControllerBootstrap()
			}
			ctx, cancel := context.WithCancel(s.ctx)
			defer cancel()
			a := kafkaclient.New("kafka", m.security, "e2e")
			client, err := a.NewClient(brokers)
			require.NoError(t, err)
			defer client.Close()
			_, err = kafkaclient.ClusterID(ctx, client)
			require.Error(t, err)
			require.Contains(t, a.Advice(err), m.advice, "broker: %v", err)

			r := readQuorum(ctx, t, m.security, s.ID, controllers)
			r.await(ctx, t, "have a problem", func(r *reading) bool { return r.problem() != nil })
			require.Contains(t, a.Advice(r.problem()), m.advice, "controller: %v", r.problem())
		})
	}
}
