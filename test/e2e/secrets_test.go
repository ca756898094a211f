//go:build e2e && unix

package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/kraftside/kraftside/internal/cli"
)

const (
	tokenOwner     = "alice"
	plainPassword  = "plain-password-of-alice"
	tokenSecretKey = "secret-key-of-all-tokens"
	configPassword = "password-in-a-configuration"
)

// secretsStay puts secrets of every kind into the cluster, and looks for them
// in everything that a sidecar says and that `dump` prints.
func (c *cast) secretsStay(t *testing.T) {
	salted := sha256.Sum256([]byte("salted password"))
	altered, err := c.admin.AlterUserSCRAMs(within(t), nil, []kadm.UpsertSCRAM{
		{User: "bob", Mechanism: kadm.ScramSha256, Iterations: 4096, Salt: []byte("salt of bob's password"), SaltedPassword: salted[:]},
	})
	require.NoError(t, err)
	require.NoError(t, altered.Error())
	c.alterConfig(t, kmsg.ConfigResourceTypeBroker, "2", map[string]string{"some.plugin.password": configPassword})
	token := c.delegationToken(t)
	c.all.awaitCaughtUp(t)

	client := sum(salted[:], "Client Key")
	stored := sha256.Sum256(client)
	secrets := map[string][]byte{
		"the salted password":           salted[:],
		"the SCRAM client key":          client,
		"the SCRAM stored key":          stored[:],
		"the SCRAM server key":          sum(salted[:], "Server Key"),
		"the salt":                      []byte("salt of bob's password"),
		"the password in a file":        []byte(plainPassword),
		"the password in a record":      []byte(configPassword),
		"the secret key of tokens":      []byte(tokenSecretKey),
		"the HMAC of a token":           token.HMAC,
		"the HMAC of a token, as ASCII": []byte(base64.StdEncoding.EncodeToString(token.HMAC)),
	}
	metadata := copyDir(t, c.MetadataDir(1))
	segments, err := filepath.Glob(filepath.Join(metadata, "*.log"))
	require.NoError(t, err)
	shown := dumped(t, cli.JSONFormat, true, segments...)
	require.True(t, holds(shown, stored[:]), "the SCRAM stored key is in the log")
	require.True(t, holds(shown, []byte(configPassword)), "the password of a configuration is in the log")
	require.Contains(t, shown, token.TokenID, "the token is in the log")

	said := c.said(t)
	for form, name := range map[cli.Format]string{cli.TextFormat: "text", cli.JSONFormat: "JSON", cli.YAMLFormat: "YAML"} {
		said["dump of the metadata as "+name] = dumped(t, form, false, metadata)
	}
	for what, secret := range secrets {
		for where, text := range said {
			require.False(t, holds(text, secret), "%s is in %s", what, where)
		}
	}
}

// said is everything that the sidecar of scope all says.
func (c *cast) said(t *testing.T) map[string]string {
	said := map[string]string{"its log": c.all.output.String()}
	paths := []string{"/healthz", "/readyz", "/metrics", "/v1/status", "/v1/groups", "/v1/topics", "/v1/verify", "/v1/nothing", "/"}
	for _, g := range c.groups() {
		paths = append(paths, "/v1/groups/"+g.id)
		for _, topic := range g.topics {
			paths = append(paths, "/v1/topics/"+topic)
		}
	}
	for _, path := range paths {
		said[path] = string(get(t, c.all.Address(), path))
	}
	said["the text of the image"] = fmt.Sprint(c.all.View().Image)
	return said
}

// delegationToken makes a token, which takes a login.
func (c *cast) delegationToken(t *testing.T) kadm.DelegationToken {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.SecuredBootstrap()...), kgo.SASL(plain.Auth{User: tokenOwner, Pass: plainPassword}.AsMechanism()))
	require.NoError(t, err)
	defer cl.Close()
	token, err := kadm.NewClient(cl).CreateDelegationToken(within(t), kadm.CreateDelegationToken{})
	require.NoError(t, err)
	return token
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// holds says whether a secret is in a text in one of the ways to write it.
func holds(text string, secret []byte) bool {
	for _, form := range []string{
		string(secret), hex.EncodeToString(secret), fmt.Sprintf("%X", secret),
		base64.RawStdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret),
		fmt.Sprint(secret),
	} {
		if bytes.Contains([]byte(text), []byte(form)) {
			return true
		}
	}
	return false
}
