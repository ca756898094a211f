package record

import (
	"strings"

	"github.com/kraftside/kraftside/internal/wire"
)

// secretWords mark the names of configurations whose value is a secret. Kafka
// decides by the type PASSWORD, which a plugin's own configurations do not
// show to the outside: so a name is enough to be hidden.
var secretWords = []string{
	"password", "passphrase", "secret", "credential", "token", "jaas", "keystore.key", "private.key", "access.key", "api.key",
	"certificate.chain", "truststore.certificates",
}

// SensitiveConfig says whether the value of a configuration is to be hidden,
// judged by its name.
func SensitiveConfig(name string) bool {
	name = strings.ToLower(name)
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// AppendJSONRedacted adds m as Message.AppendJSON does with secrets hidden,
// the values of sensitive configurations among them.
func AppendJSONRedacted(b []byte, m Message, version int16) []byte {
	c, ok := m.(*ConfigRecord)
	if !ok || c.Value == nil || !SensitiveConfig(c.Name) {
		return m.AppendJSON(b, version, wire.HideSecrets)
	}
	hidden, redacted := *c, wire.Redacted
	hidden.Value = &redacted
	return hidden.AppendJSON(b, version, wire.HideSecrets)
}
