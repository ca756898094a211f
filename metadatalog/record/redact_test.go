package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSensitiveConfig(t *testing.T) {
	for _, name := range []string{
		"ssl.keystore.password", "listener.name.external.ssl.key.password", "ssl.keystore.key", "ssl.keystore.certificate.chain",
		"sasl.jaas.config", "listener.name.x.plain.sasl.jaas.config", "delegation.token.secret.key", "rsm.config.s3.aws.secret.access.key",
	} {
		require.True(t, SensitiveConfig(name), name)
	}
	for _, name := range []string{"retention.ms", "min.insync.replicas", "ssl.keystore.location", "compression.type", "cleanup.policy"} {
		require.False(t, SensitiveConfig(name), name)
	}
}

func TestAppendJSONRedacted(t *testing.T) {
	value := "hunter2"
	m := &ConfigRecord{ResourceType: 4, ResourceName: "1", Name: "ssl.key.password", Value: &value}
	require.Equal(t, `{"resourceType":4,"resourceName":"1","name":"ssl.key.password","value":"(redacted)"}`, string(AppendJSONRedacted(nil, m, 0)))
	require.Equal(t, "hunter2", *m.Value)
	m.Name = "retention.ms"
	require.Contains(t, string(AppendJSONRedacted(nil, m, 0)), "hunter2")
	m.Value = nil
	require.Contains(t, string(AppendJSONRedacted(nil, m, 0)), "null")
}
