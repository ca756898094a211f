package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Values that cannot work are refused when they are installed, with the reason.
func TestRefused(t *testing.T) {
	for values, want := range map[string]string{
		`{}`:                                    "cluster is empty: it is the name of the Kafka cluster",
		`{cluster: x, injection: {mode: none}}`: "nothing to install",
		`{flavour: custom}`:                     "custom.labels is empty",
		`{cluster: x, source: quorum}`:          "source quorum needs kafka.bootstrap and kafka.controllers",
		`{injection: {mode: none}, standalone: {enabled: true}}`:                             "standalone needs kafka.bootstrap and kafka.controllers",
		`{cluster: x, injection: {mod: policy}}`:                                             "additional properties 'mod' not allowed",
		`{cluster: x, flavour: strimsi}`:                                                     "value must be one of",
		`{cluster: x, image: {digest: sha256:abc}}`:                                          "does not match pattern",
		`{cluster: x, resources: {requests: {cpu: 1m, memory: 1Mi}, limits: {memory: 1Mi}}}`: "missing property 'cpu'",
		`{cluster: x, ports: {http: 0}}`:                                                     "minimum",
		`{cluster: x, injection: {mode: snippet}}`:                                           "injection.mode snippet cannot work with Strimzi",
		`{cluster: x, kafkaUser: {enabled: true}}`:                                           "kafkaUser is not needed",
		`{cluster: x, flavour: cfk, kafkaUser: {enabled: true}}`:                             "kafkaUser is for Strimzi",
		`{cluster: x, state: {kind: volume}}`:                                                "state.volume is empty",
		`{cluster: x, state: {kind: volume, volume: v, subPath: kafka-log0}}`:                "does not match pattern",
		`{cluster: x, brokersNamespace: other}`:                                              "the brokers are in the namespace other: install the chart there",
		`{flavour: custom, custom: {labels: {app: k}}, state: {kind: volume, volume: data}}`: "Kafka does not start beside a directory there that it does not know",
		`{cluster: x, flavour: bitnami, source: quorum, custom: {nodeIdOffset: 100}, injection: {mode: snippet},
		  kafka: {bootstrap: ["b:9092"], controllers: ["c:9093"]}}`: "cannot add custom.nodeIdOffset",
		`{cluster: x, monitoring: {podMonitor: {enabled: true}, serviceMonitor: {enabled: true}}}`: "monitoring.podMonitor and monitoring.serviceMonitor are both enabled, and Prometheus would take every sidecar twice",
		`{cluster: x, flavour: cfk, networkPolicy: {enabled: true}}`:                               "networkPolicy.enabled cuts the brokers off from their clients",
		`{cluster: x, networkPolicy: {enabled: true, brokersIsolated: false}}`:                     "set networkPolicy.brokersIsolated to true",
		`{cluster: x, ports: {admin: 0}, networkPolicy: {adminFrom: [{podSelector: {}}]}}`:         "networkPolicy.adminFrom lets pods reach the admin endpoint, and ports.admin is 0",
		`{cluster: x, networkPolicy: {httpFrom: [{}]}}`:                                            "minProperties",
	} {
		_, err := render(t, values)
		require.ErrorContains(t, err, want, values)
	}
}
