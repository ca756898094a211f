package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Advertise is which addresses clients of the admin endpoint are told.
type Advertise string

// The ways to advertise.
const (
	// AdvertiseAuto is AdvertisePeers with the scope local, else AdvertiseSelf.
	AdvertiseAuto  Advertise = ""
	AdvertiseSelf  Advertise = "self"
	AdvertisePeers Advertise = "peers"
)

// Admin is the endpoint for Kafka's protocol.
type Admin struct {
	Listen           string // HOST:PORT; empty: there is none
	Advertise        Advertise
	PortPerBroker    int // the first port; 0: there are none
	TLS              ServerTLS
	SASL             AdminSASL
	SuperUsers       []string // principals
	AllowIfNoACL     bool
	AllowAnonymous   bool
	SyntheticConfigs bool
	MaxStaleness     time.Duration
}

// AdminSASL is how clients of the admin endpoint log in.
type AdminSASL struct {
	Mechanisms []string // none: they need not
	UsersFile  string
	Tokens     AdminTokens
}

// AdminTokens is which tokens of OAUTHBEARER are accepted.
type AdminTokens struct {
	Keys     string // file or URL
	Issuer   string
	Audience string
	Claim    string
}

func (a *Admin) settings() []setting {
	return []setting{
		{"listen", optionalAddress(&a.Listen), "where to listen for Kafka's protocol; empty: nowhere"},
		{"advertise", choice(&a.Advertise, AdvertiseSelf, AdvertisePeers),
			"where clients are sent for a broker. self: here. peers: to the sidecar beside the broker, on the same port as here. " +
				"Default: peers with the scope local, self with all"},
		{"port-per-broker", port(&a.PortPerBroker), "with self, a port for each broker, which is this one plus its id: a request there is meant for that broker"},
		{"tls.cert-file", filePath(&a.TLS.CertFile), "PEM file of the server's certificate; with it the endpoint speaks TLS"},
		{"tls.key-file", filePath(&a.TLS.KeyFile), "PEM file of its private key, not encrypted"},
		{"tls.client-ca-file", filePath(&a.TLS.ClientCAFile),
			"PEM file of authorities; clients must have a certificate of theirs (mTLS), and are whom it names if there is no admin.sasl.mechanisms"},
		{"sasl.mechanisms", list(&a.SASL.Mechanisms, "MECHANISM", serverMechanism),
			"how clients may log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER; SCRAM with the credentials that the cluster has for them. " +
				"Without any they need not"},
		{"sasl.users-file", filePath(&a.SASL.UsersFile), "file with the users of PLAIN: a name, a colon and a password a line"},
		{"sasl.oauthbearer.keys", text(&a.SASL.Tokens.Keys, "FILE|URL"), "the keys that tokens of OAUTHBEARER are signed with (JWKS)"},
		{"sasl.oauthbearer.issuer", text(&a.SASL.Tokens.Issuer, "NAME"), "who must have issued tokens (iss); default: anybody"},
		{"sasl.oauthbearer.audience", text(&a.SASL.Tokens.Audience, "NAME"), "for whom tokens must be (aud); default: anybody"},
		{"sasl.oauthbearer.claim", text(&a.SASL.Tokens.Claim, "NAME"), "the claim of a token that names the user"},
		{"super-users", list(&a.SuperUsers, "PRINCIPAL", principal), "who may see everything, such as User:admin; others see what the cluster's ACLs let them, if they have to log in"},
		{"allow-everyone-if-no-acl-found", boolean(&a.AllowIfNoACL), "let everybody who logs in see what no ACL is about; as the brokers have it"},
		{"allow-anonymous", boolean(&a.AllowAnonymous), "let anyone ask who can reach the endpoint, on another address than loopback"},
		{"synthetic-configs", boolean(&a.SyntheticConfigs),
			"show hashes, verdict and the last cause of a group among its configurations"},
		{"max-staleness", duration(&a.MaxStaleness), "how far an answer may be behind the brokers; what is older is refused with an error that clients try again"},
	}
}

func (c *Config) validateAdmin() error {
	a := &c.Admin
	if a.Listen == "" {
		return nil
	}
	return errors.Join(a.validateAddress(), a.validateLogin(), a.validatePorts(), c.validateAdvertise())
}

func (a *Admin) validateAddress() error {
	closed := len(a.SASL.Mechanisms) > 0 || a.TLS.ClientCAFile != ""
	switch {
	case closed && a.AllowAnonymous:
		return errors.New("admin.allow-anonymous is set beside admin.sasl.mechanisms or admin.tls.client-ca-file, which make clients say who they are: " +
			"leave out one or the other")
	case closed, a.AllowAnonymous, loopback(a.Listen):
		return nil
	}
	return fmt.Errorf("admin.listen is %s, which others can reach, and nobody has to log in there: "+
		"set admin.sasl.mechanisms or admin.tls.client-ca-file, or admin.allow-anonymous to allow that, or listen on 127.0.0.1", a.Listen)
}

func (a *Admin) validateLogin() error {
	has := func(m Mechanism) bool { return slices.Contains(a.SASL.Mechanisms, string(m)) }
	t := &a.TLS
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		return errors.New("only one of admin.tls.cert-file and admin.tls.key-file is set: a server certificate needs both")
	case t.ClientCAFile != "" && t.CertFile == "":
		return errors.New("admin.tls.client-ca-file is set and admin.tls.cert-file is not: client certificates need a server that speaks TLS")
	case has(Plain) != (a.SASL.UsersFile != ""):
		return errors.New("admin.sasl.mechanisms has PLAIN where admin.sasl.users-file is set, and only there")
	case has(OAuthBearer) != (a.SASL.Tokens.Keys != ""):
		return errors.New("admin.sasl.mechanisms has OAUTHBEARER where admin.sasl.oauthbearer.keys is set, and only there")
	}
	return nil
}

func serverMechanism(s string) bool {
	return slices.Contains([]Mechanism{Plain, ScramSHA256, ScramSHA512, OAuthBearer}, Mechanism(s))
}

// principal says whether s is TYPE:NAME.
func principal(s string) bool {
	kind, name, ok := strings.Cut(s, ":")
	return ok && kind != "" && name != ""
}

func (a *Admin) validatePorts() error {
	switch {
	case a.MaxStaleness <= 0:
		return fmt.Errorf("admin.max-staleness is %v: nothing would be new enough to be answered", a.MaxStaleness)
	case a.PortPerBroker != 0 && a.Advertise == AdvertisePeers:
		return errors.New("admin.port-per-broker is set and admin.advertise is peers: ports stand for brokers only where all of them are advertised here")
	}
	return nil
}

func (c *Config) validateAdvertise() error {
	local := c.Groups.Scope == ScopeLocal || c.Groups.Scope == ScopeAuto && c.NodeID != kafka.NoNode
	switch {
	case c.Admin.Advertise == AdvertiseSelf && local:
		return errors.New("admin.advertise is self and groups.scope is local: clients would ask here for groups of other brokers, " +
			"which are not here; set groups.scope to all, or admin.advertise to peers")
	case c.Admin.Advertise == AdvertisePeers && c.Groups.Scope == ScopeAll:
		return errors.New("admin.advertise is peers and groups.scope is all: there is no sidecar beside each broker; set admin.advertise to self")
	}
	return nil
}

func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
