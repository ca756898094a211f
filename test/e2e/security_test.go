//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafkaclient"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/test/realkafka"
)

// A secured Kafka: every way to log in; every source with exactly the ACLs of
// docs/permissions.md, and without them; secrets that are replaced; and what is
// said about settings that do not fit.
func TestSecurity(t *testing.T) {
	if !hasNewest(t) {
		return // it is the same on every release
	}
	permissions := readPermissions(t)
	for _, protocol := range []string{"SASL_SSL", "SSL"} {
		t.Run(protocol, func(t *testing.T) {
			s := startSecured(t, protocol)
			for _, source := range s.sources() {
				t.Run(source.setting+" "+source.name, func(t *testing.T) { s.story(t, source, permissions.of(t, source.setting, source.asked)) })
			}
			if protocol == "SASL_SSL" {
				t.Run("rotation", func(t *testing.T) { s.rotate(t, permissions.of(t, "metadata.source=quorum", "controllers")) })
			}
			t.Run("advice", s.advice)
		})
	}
}

// securedCluster is one controller and one broker, and those who log in.
type securedCluster struct {
	*realkafka.Cluster
	ctx    context.Context
	files  secretFiles
	logins []*login // all by the same principal
}

// login is a way to prove who one is.
type login struct {
	name      string
	principal string
	security  config.Security
}

// sidecarUser is the user of SASL, and the common name of the certificate.
const sidecarUser = "sidecar"

// saslProperties let clients bring a certificate to SASL_SSL or not, and end
// their sessions soon, so that logins on open connections are part of the test.
var saslProperties = map[string]string{
	"connections.max.reauth.ms":                        "3000",
	"listener.name.secured.ssl.client.auth":            "requested",
	"listener.name.secured_controller.ssl.client.auth": "requested",
}

func startSecured(t *testing.T, protocol string) *securedCluster {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	c := realkafka.Config{
		Controllers: 1, Brokers: 1,
		Security: &realkafka.Security{Protocol: protocol, Users: map[string]string{sidecarUser: "plain secret"}},
	}
	if protocol == "SASL_SSL" {
		c.Properties = saslProperties
	}
	s := &securedCluster{Cluster: realkafka.Start(t, c), ctx: ctx, files: secretFiles{t.TempDir()}}
	s.files.write(t, "ca.pem", s.AuthorityPEM())
	ours, err := s.TLS(sidecarUser)
	require.NoError(t, err)
	s.files.writeCertificate(t, "ours", ours.Certificates[0])
	s.logins = []*login{{"mTLS", "User:CN=" + sidecarUser, s.withCertificate("ours")}}
	if protocol == "SASL_SSL" {
		s.logins = s.saslLogins(t)
	}
	s.commitOffsets(t)
	return s
}

// saslLogins are all mechanisms, with a client certificate and without one.
func (s *securedCluster) saslLogins(t *testing.T) (logins []*login) {
	secrets := map[config.Mechanism]string{config.Plain: "plain secret", config.ScramSHA256: "secret 256", config.ScramSHA512: "secret 512"}
	for _, u := range []kadm.UpsertSCRAM{
		{User: sidecarUser, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: secrets[config.ScramSHA256]},
		{User: sidecarUser, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: secrets[config.ScramSHA512]},
	} { // Kafka takes a user once in a request
		altered, err := s.Admin().AlterUserSCRAMs(s.ctx, nil, []kadm.UpsertSCRAM{u})
		require.NoError(t, err)
		require.NoError(t, altered.Error())
	}
	token, err := realkafka.UnsecuredToken(sidecarUser)
	require.NoError(t, err)
	secrets[config.OAuthBearer] = token
	for mechanism, secret := range secrets {
		for suffix, tls := range map[string]config.TLS{"": s.trusting(), " and mTLS": s.withCertificate("ours").TLS} {
			l := &login{string(mechanism) + suffix, "User:" + sidecarUser, config.Security{TLS: tls}}
			file := s.files.write(t, l.name, []byte(secret+"\n"))
			l.security.SASL = config.SASL{Mechanism: mechanism, Username: sidecarUser, PasswordFile: file}
			if mechanism == config.OAuthBearer {
				l.security.SASL = config.SASL{Mechanism: mechanism, TokenFile: file}
			}
			logins = append(logins, l)
		}
	}
	return logins
}

// trusting is TLS that trusts the cluster's authority.
func (s *securedCluster) trusting() config.TLS {
	return config.TLS{Enabled: config.On, CAFile: s.files.path("ca.pem")}
}

// withCertificate is that with a client certificate, and no SASL.
func (s *securedCluster) withCertificate(name string) config.Security {
	tls := s.trusting()
	tls.CertFile, tls.KeyFile = s.files.path(name+".cert"), s.files.path(name+".key")
	return config.Security{TLS: tls, SASL: config.SASL{Mechanism: config.NoSASL}}
}

// commitOffsets makes __consumer_offsets, with something in it.
func (s *securedCluster) commitOffsets(t *testing.T) {
	_, err := s.Admin().CreateTopic(s.ctx, 1, 1, nil, "orders")
	require.NoError(t, err)
	at := kadm.Offsets{}
	at.AddOffset("orders", 0, 0, -1)
	require.Eventually(t, func() bool { return s.Admin().CommitAllOffsets(s.ctx, "g", at) == nil }, 30*time.Second, 100*time.Millisecond)
}

// source is something that is read, and its row in docs/permissions.md.
type source struct {
	name           string
	setting, asked string
	// start reads it, as l, until ctx ends.
	start func(ctx context.Context, t *testing.T, l *login) *reading
}

func (s *securedCluster) sources() []source {
	applied := func(c *kgo.Client) metadatalog.Bound {
		return &metadatalog.AppliedBound{Client: c, Node: 1, ClusterID: s.ID}
	}
	described := func(c *kgo.Client) metadatalog.Bound { return &metadatalog.QuorumBound{Client: c, Node: 1} }
	return []source{
		{"from controllers", "metadata.source=quorum", "controllers", s.readQuorum},
		{"up to what the broker applied", "metadata.source=dir", "the broker", s.readDir(applied)},
		{"up to the high watermark", "metadata.source=dir", "any broker", s.readDir(described)},
		{"from brokers", "offsets.source=kafka", "brokers", s.readGroups},
	}
}

func (s *securedCluster) readQuorum(ctx context.Context, t *testing.T, l *login) *reading {
	return readQuorum(ctx, t, l.security, s.ID, s.SecuredControllerBootstrap())
}

func (s *securedCluster) readDir(bound func(*kgo.Client) metadatalog.Bound) func(context.Context, *testing.T, *login) *reading {
	return func(ctx context.Context, t *testing.T, l *login) *reading {
		d := metadatalog.NewDir(metadatalog.DirConfig{Dir: s.LogDir(1), ClusterID: s.ID, Bound: bound(s.client(t, l))})
		return startReading(t, func(r *reading) error { return d.Run(ctx, metadatalog.Position{}, metadataReading{r}) })
	}
}

func (s *securedCluster) readGroups(ctx context.Context, t *testing.T, l *login) *reading {
	k := offsetslog.NewKafka(offsetslog.KafkaConfig{Client: s.client(t, l), ClusterID: s.ID})
	return startReading(t, func(r *reading) error { return k.Run(ctx, groupsReading{r}) })
}

func (s *securedCluster) client(t *testing.T, l *login) *kgo.Client {
	c, err := kafkaclient.New("kafka", l.security, "e2e").NewClient(s.SecuredBootstrap())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// story reads a source by every login at once. Without the ACL it is refused,
// with it it gets on, and without it is refused again, each time without being
// started anew. Where no ACL is needed it gets on at once.
func (s *securedCluster) story(t *testing.T, source source, p permission) {
	s.requireNoACLs(t)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	readings := map[string]*reading{}
	for _, l := range s.logins {
		readings[l.name] = source.start(ctx, t, l)
	}
	if p.operation == "none" {
		awaitAll(ctx, t, "read without an ACL", readings, (*reading).caughtUp)
		return
	}
	refused := func(r *reading) bool {
		problem := r.problem()
		return problem != nil && strings.Contains(problem.Error(), "_AUTHORIZATION_FAILED; ") && strings.HasSuffix(problem.Error(), p.refusal)
	}
	awaitAll(ctx, t, "be refused", readings, refused)
	s.grant(t, p)
	awaitAll(ctx, t, "read", readings, (*reading).caughtUp)
	s.revoke(t)
	awaitAll(ctx, t, "be refused again", readings, refused)
}

func (s *securedCluster) grant(t *testing.T, p permission) {
	created, err := s.Admin().CreateACLs(s.ctx, p.acl(t).Allow(s.logins[0].principal))
	require.NoError(t, err)
	require.Len(t, created, 1)
	require.NoError(t, created[0].Err)
}

func everyACL() *kadm.ACLBuilder {
	return kadm.NewACLs().AnyResource().Allow().AllowHosts().Operations(kadm.OpAny).ResourcePatternType(kadm.ACLPatternAny)
}

func (s *securedCluster) revoke(t *testing.T) {
	deleted, err := s.Admin().DeleteACLs(s.ctx, everyACL())
	require.NoError(t, err)
	for _, d := range deleted {
		require.NoError(t, d.Err)
	}
	s.requireNoACLs(t)
}

func (s *securedCluster) requireNoACLs(t *testing.T) {
	require.Eventually(t, func() bool {
		results, err := s.Admin().DescribeACLs(s.ctx, everyACL())
		require.NoError(t, err)
		left := 0
		for _, r := range results {
			require.NoError(t, r.Err)
			left += len(r.Described)
		}
		return left == 0
	}, 20*time.Second, 50*time.Millisecond)
}

// rotate replaces the secret in a file under running connections, whose
// sessions end; and then replaces it by the right one.
func (s *securedCluster) rotate(t *testing.T, p permission) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.grant(t, p)
	defer s.revoke(t)
	readings, secrets := map[string]*reading{}, map[string][]byte{}
	for _, l := range s.logins {
		readings[l.name], secrets[l.name] = s.readQuorum(ctx, t, l), s.files.read(t, l.name)
	}
	awaitAll(ctx, t, "read", readings, (*reading).caughtUp)
	for name := range maps.Keys(secrets) {
		s.files.write(t, name, []byte("wrong"))
	}
	for _, l := range s.logins {
		a := kafkaclient.New("controllers", l.security, "e2e")
		readings[l.name].await(ctx, t, l.name+": be refused", func(r *reading) bool {
			var p *metadatalog.Problem
			return errors.As(r.problem(), &p) && p.Kind == metadatalog.NotAuthorized && strings.Contains(a.Advice(p), " was refused: check")
		})
	}
	for name, secret := range secrets {
		s.files.write(t, name, secret)
	}
	awaitAll(ctx, t, "read again", readings, (*reading).caughtUp)
}
