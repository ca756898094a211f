package main

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// secrets stand in the log that TestNoSecretGetsOut looks at, each in another
// way.
var secrets = map[string]string{
	"salt":            "salt-8c1f",
	"stored key":      "stored-key-77aa",
	"server key":      "server-key-91be",
	"changed key":     "changed-key-5d10",
	"key password":    "hunter2-keystore",
	"jaas":            "org.example.LoginModule required password=hunter3",
	"changed jaas":    "org.example.LoginModule required password=hunter5",
	"plugin secret":   "hunter4-plugin",
	"cut config":      "hunter6-cut-off",
	"later config":    "hunter7-later-version",
	"later scram":     "hunter8-later-version",
	"unknown type":    "hunter9-unknown-type",
	"unknown frame":   "hunter10-unknown-frame",
	"unknown tag":     "hunter11-unknown-tag",
	"refused scram":   "hunter12-refused",
	"snapshot secret": "hunter13-snapshot",
}

// forms are the ways in which a byte string can be printed.
func forms(secret string) []string {
	raw := []byte(secret)
	return []string{
		secret, hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), base64.StdEncoding.EncodeToString(raw),
		base64.RawURLEncoding.EncodeToString(raw),
	}
}

func scram(keys ...string) *record.UserScramCredentialRecord {
	return &record.UserScramCredentialRecord{
		Name: "alice", Mechanism: 1, Salt: []byte(secrets["salt"]), StoredKey: []byte(keys[0]), ServerKey: []byte(keys[1]), Iterations: 4096,
	}
}

func configRecord(name, value string) *record.ConfigRecord {
	return &record.ConfigRecord{ResourceType: 4, ResourceName: "1", Name: name, Value: &value}
}

func frames(t *testing.T, messages ...record.Message) (values []string) {
	for _, m := range messages {
		frame, err := record.AppendFrame(nil, m, m.Type().HighestVersion())
		require.NoError(t, err)
		values = append(values, string(frame))
	}
	return values
}

// writeSecrets makes a sound metadata log with secrets, and one that has them
// in records that cannot be read, in the current folder.
func writeSecrets(t *testing.T) {
	sound := logdirtest.New(t, "sound/__cluster_metadata-0", 0)
	sound.Append(1, frames(t,
		scram(secrets["stored key"], secrets["server key"]),
		configRecord("ssl.key.password", secrets["key password"]),
		configRecord("sasl.jaas.config", secrets["jaas"]),
		configRecord("my.plugin.client.secret", secrets["plugin secret"]))...)
	sound.Append(1, frames(t,
		scram(secrets["changed key"], secrets["server key"]),
		configRecord("sasl.jaas.config", secrets["changed jaas"]),
		&record.ConfigRecord{ResourceType: 4, ResourceName: "1", Name: "my.plugin.client.secret"})...)
	sound.Append(1, "\x01\x0c\x00\x02f\x00\x01\x01\x63\x10"+secrets["unknown tag"][:16]) // a FeatureLevelRecord with a tag
	w := &world{t: t, logs: map[string]*logdirtest.Log{"sound": sound}}
	content := w.snapshot(1, `ConfigRecord {"resourceType":4,"resourceName":"1","name":"ssl.key.password","value":"`+secrets["snapshot secret"]+`"}`)
	sound.Snapshot(4, 1, content)

	broken := logdirtest.New(t, "broken/__cluster_metadata-0", 0)
	cut := frames(t, configRecord("ssl.key.password", secrets["cut config"]))[0]
	broken.Append(1, cut[:len(cut)-1])
	broken.Append(1, "\x01\x04\x07"+secrets["later config"])
	broken.Append(1, "\x01\x0b\x07"+secrets["later scram"])
	broken.Append(1, "\x01\x7f\x00"+secrets["unknown type"])
	broken.Append(1, "\x07\x0b\x00"+secrets["unknown frame"])
	refused := scram(secrets["refused scram"], secrets["refused scram"])
	broken.Append(1, frames(t, refused)[0]+"trailing")
	broken.AppendBatch(recordbatch.Header{LeaderEpoch: 1}, []recordbatch.Record{{Key: []byte(secrets["later scram"]), Value: nil}})
}

// TestNoSecretGetsOut runs every offline command in every form over logs full
// of secrets, and looks for them in all that is printed.
func TestNoSecretGetsOut(t *testing.T) {
	t.Chdir(t.TempDir())
	writeSecrets(t)
	for _, command := range offlineCommands {
		for _, format := range cli.Formats() {
			o := runLine(command + " -o " + format)
			require.NotEmpty(t, o.stdout, "%s: %s", command, o.stderr)
			for what, secret := range secrets {
				for _, form := range forms(secret) {
					require.NotContains(t, o.stdout+o.stderr, form, "%s -o %s shows the %s", command, format, what)
				}
			}
		}
	}

	// The test would see them.
	shown := runLine("dump sound broken --show-secrets -o json").stdout
	for what, secret := range secrets {
		found := false
		for _, form := range forms(secret) {
			found = found || strings.Contains(shown, form)
		}
		require.Equal(t, what != "unknown tag", found, "%s, which only an unknown field holds, is not printed at all", what)
	}
}

// offlineCommands read the logs of writeSecrets.
var offlineCommands = []string{
	"dump sound broken",
	"check sound broken",
	"diff sound/__cluster_metadata-0@3 sound",
	"diff sound@0 sound@6",
	"dump sound/__cluster_metadata-0/00000000000000000004-0000000001.checkpoint",
}
