package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kraftside/kraftside/internal/config"
)

// configuration is what the program makes of a container and of the file that it
// finds in its ConfigMap.
func configuration(t *testing.T, values string, c *corev1.Container) *config.Config {
	t.Helper()
	objects, err := render(t, values)
	require.NoError(t, err)
	var m corev1.ConfigMap
	typed(t, one(t, objects, "ConfigMap"), &m)
	file := filepath.Join(t.TempDir(), "kraftside.yaml")
	require.NoError(t, os.WriteFile(file, []byte(m.Data["kraftside.yaml"]), 0o600))
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	loader := config.NewLoader(flags)
	require.NoError(t, flags.Parse([]string{"--config", file}))
	var environ []string
	for _, e := range c.Env {
		environ = append(environ, e.Name+"="+e.Value)
	}
	got, err := loader.Load(environ)
	require.NoError(t, err, "%s\n%v", m.Data["kraftside.yaml"], environ)
	return got
}

// typed decodes an object, which may have no field that its type has not.
func typed(t *testing.T, o object, to any) {
	t.Helper()
	raw, err := yaml.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(raw, to))
}

// The program takes the configuration that the chart gives it.
func TestConfiguration(t *testing.T) {
	for flavour, want := range map[string]string{
		"strimzi":   "-1 dir /var/lib/kafka/data-0/kafka-log12 dir [/var/lib/kafka/data-0/kafka-log12 /var/lib/kafka/data-1/kafka-log12] [localhost:9092] prod",
		"cfk":       "-1 dir /mnt/data/data0/logs dir [/mnt/data/data0/logs] [localhost:9092] prod",
		"koperator": "-1 dir /kafka-logs/kafka dir [/kafka-logs/kafka] [localhost:9092] prod",
		"bitnami":   "101 quorum  kafka [] [prod-kafka:9092] prod",
		"custom":    "-1 dir /data dir [/data] [localhost:9092] ",
	} {
		values := read(t, "values", flavour+".yaml")
		sidecar, _ := injected(t, newPolicy(t, values).admit(t, brokerPod(t, flavour)))
		c := configuration(t, values, sidecar)
		got := fmt.Sprint(c.NodeID, " ", c.Metadata.Source, " ", c.Metadata.Dir, " ", c.Offsets.Source, " ", c.Offsets.Dirs, " ", c.Kafka.Bootstrap, " ", c.ClusterName)
		require.Equal(t, want, got, flavour)
		require.Equal(t, "/var/lib/kraftside/store", c.Store.Dir, flavour)
		require.Equal(t, ":9464", c.HTTP.Listen, flavour)
	}
}

// Settings of `config` win over those of the chart, and a port of 0 is none.
func TestOwnSettings(t *testing.T) {
	values := `{cluster: prod, ports: {http: 9999, admin: 0}, peers: {tokenSecret: shared, tokenKey: read}, config: {log: {level: debug}, store: {max-bytes: 1GiB}}}`
	sidecar, _ := injected(t, newPolicy(t, values).admit(t, brokerPod(t, "strimzi")))
	require.Len(t, sidecar.Ports, 1)
	c := configuration(t, values, sidecar)
	require.Equal(t, ":9999", c.HTTP.Listen)
	require.Equal(t, "/etc/kraftside-secrets/shared/read", c.HTTP.TokenFile)
	require.Empty(t, c.Admin.Listen)
	require.Equal(t, "debug", c.Log.Level)
	require.Equal(t, "json", c.Log.Format)
	require.EqualValues(t, 1<<30, c.Store.MaxBytes)
}

// Secrets, and volumes of one's own, are mounted; the state may be on a volume of the
// pod or on a claim.
func TestVolumes(t *testing.T) {
	for values, want := range map[string]string{
		`{cluster: prod, secrets: [login, "ca.crt"]}`: "kraftside-config kraftside-secret-0 kraftside-secret-1 kraftside-state;" +
			" /etc/kraftside /etc/kraftside-secrets/login /etc/kraftside-secrets/ca.crt /var/lib/kraftside",
		`{cluster: prod, secrets: [shared, login], peers: {tokenSecret: shared}}`: "kraftside-config kraftside-secret-0 kraftside-secret-1 kraftside-state;" +
			" /etc/kraftside /etc/kraftside-secrets/shared /etc/kraftside-secrets/login /var/lib/kraftside",
		`{cluster: prod, state: {kind: volume, volume: strimzi-tmp, subPath: kraftside}}`: "kraftside-config; /etc/kraftside /var/lib/kraftside",
		`{cluster: prod, state: {kind: claim, storageClass: fast}}`:                       "kraftside-config kraftside-state; /etc/kraftside /var/lib/kraftside",
		`{cluster: prod, extraVolumes: [{name: mine, emptyDir: {}}], extraVolumeMounts: [{name: mine, mountPath: /mine}]}`: "kraftside-config kraftside-state mine;" +
			" /etc/kraftside /var/lib/kraftside /mine",
	} {
		before := brokerPod(t, "strimzi")
		pod := newPolicy(t, values).admit(t, before.DeepCopy())
		c, _ := injected(t, pod)
		var volumes, paths []string
		for _, v := range pod.Spec.Volumes[len(before.Spec.Volumes):] {
			volumes = append(volumes, v.Name)
		}
		for _, m := range c.VolumeMounts {
			if !strings.HasPrefix(m.MountPath, "/var/lib/kafka/") {
				paths = append(paths, m.MountPath)
			}
		}
		require.Equal(t, want, strings.Join(volumes, " ")+"; "+strings.Join(paths, " "))
	}
}

// A sidecar of its own has all that its pod needs, and no account.
func TestStandalone(t *testing.T) {
	values := `{injection: {mode: none}, standalone: {enabled: true}, kafka: {bootstrap: ["b:9092"], controllers: ["c:9093"]}, image: {pullSecrets: [secret]}}`
	objects, err := render(t, values)
	require.NoError(t, err)
	var s appsv1.StatefulSet
	typed(t, one(t, objects, "StatefulSet"), &s)
	var service corev1.Service
	typed(t, one(t, objects, "Service"), &service)
	spec := s.Spec.Template.Spec
	require.False(t, *spec.AutomountServiceAccountToken)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "secret"}}, spec.ImagePullSecrets)
	require.Subset(t, s.Spec.Template.Labels, service.Spec.Selector)
	require.Subset(t, s.Spec.Template.Labels, s.Spec.Selector.MatchLabels)
	c := configuration(t, values, &spec.Containers[0])
	require.Equal(t, config.SourceQuorum, c.Metadata.Source)
	require.Equal(t, config.OffsetsKafka, c.Offsets.Source)
	require.Equal(t, []string{"c:9093"}, c.Metadata.Controllers)
}
