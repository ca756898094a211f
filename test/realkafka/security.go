//go:build unix

package realkafka

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Security adds to every broker and every controller a second listener that clients must authenticate to. The plain
// listeners stay: the servers talk to each other there, and so do Cluster.Admin and the tests' own set-up, as the super
// user User:ANONYMOUS. StandardAuthorizer decides on all of them.
type Security struct {
	// Protocol of the secured listeners: SASL_PLAINTEXT, SASL_SSL or SSL. With SSL the client's certificate is its
	// principal; SASL takes PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER.
	Protocol string
	// Users maps the names that PLAIN knows to passwords. SCRAM credentials are made through Cluster.Admin.
	Users map[string]string

	authority *authority
}

// loginModules names the server side of each SASL mechanism.
var loginModules = map[string]string{
	"plain":         "org.apache.kafka.common.security.plain.PlainLoginModule required",
	"scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule required",
	"scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule required",
	"oauthbearer":   `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="server"`,
}

// properties returns the configuration of a server's secured listener.
func (s *Security) properties(n *node) map[string]string {
	p := map[string]string{
		"controller.listener.names":      controllerListener + "," + securedControllerListener,
		"listener.security.protocol.map": fmt.Sprintf("%s,%s:%s,%s:%s", plainMap, securedListener, s.Protocol, securedControllerListener, s.Protocol),
		"authorizer.class.name":          "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":                    "User:ANONYMOUS",
	}
	prefix := "listener.name." + strings.ToLower(securedListener) + "."
	if n.role == roleController {
		prefix = "listener.name." + strings.ToLower(securedControllerListener) + "."
	}
	if strings.HasPrefix(s.Protocol, "SASL_") {
		p[prefix+"sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
		for mechanism, module := range loginModules {
			if mechanism == "plain" {
				module += s.plainUsers()
			}
			p[prefix+mechanism+".sasl.jaas.config"] = module + ";"
		}
	}
	if strings.HasSuffix(s.Protocol, "SSL") {
		for _, store := range []string{"keystore", "truststore"} {
			p[prefix+"ssl."+store+".type"] = "PEM"
		}
		p[prefix+"ssl.keystore.location"] = n.keyFile()
		p[prefix+"ssl.truststore.location"] = n.trustFile()
		if s.Protocol == "SSL" {
			p[prefix+"ssl.client.auth"] = "required"
		}
	}
	return p
}

func (s *Security) plainUsers() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		fmt.Fprintf(&b, " user_%s=%q", name, s.Users[name])
	}
	return b.String()
}

// SecuredBootstrap returns host:port of every broker's secured listener, running or not.
func (c *Cluster) SecuredBootstrap() []string { return addresses(c.brokers, (*node).securedAddress) }

// SecuredControllerBootstrap returns host:port of every controller's secured listener, running or not.
func (c *Cluster) SecuredControllerBootstrap() []string {
	return addresses(c.controllers, (*node).securedAddress)
}

// UnsecuredToken returns a token without a signature, valid for an hour, that OAUTHBEARER of the secured listeners takes
// for User:name.
func UnsecuredToken(name string) (string, error) {
	now := time.Now()
	claims, err := json.Marshal(map[string]any{"sub": name, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(`{"alg":"none"}`)) + "." + enc.EncodeToString(claims) + ".", nil
}
