package kube

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// end is a pod at an end of a connection.
type end struct {
	namespace string
	labels    map[string]string
}

var (
	prometheus = end{"monitoring", map[string]string{"app.kubernetes.io/name": "prometheus"}}
	client     = end{"shop", map[string]string{"app": "checkout"}}
	ui         = end{"kafka", map[string]string{"app": "kafka-ui"}}
	standalone = end{"kafka", map[string]string{"app.kubernetes.io/name": "kraftside", "app.kubernetes.io/instance": "ks"}}
	collector  = end{"telemetry", map[string]string{"app": "collector"}}
	broker     = end{"kafka", map[string]string{"strimzi.io/cluster": "prod", "strimzi.io/broker-role": "true"}}
	controller = end{"kafka", map[string]string{"strimzi.io/cluster": "prod", "strimzi.io/controller-role": "true"}}
	foreign    = end{"kafka", map[string]string{"strimzi.io/cluster": "test", "strimzi.io/broker-role": "true"}}
)

// network is what NetworkPolicies of the namespace kafka allow.
type network []networkingv1.NetworkPolicy

func newNetwork(t *testing.T, values string) (all network) {
	t.Helper()
	objects, err := render(t, values)
	require.NoError(t, err)
	for _, o := range objects {
		if o.kind() == "NetworkPolicy" {
			var p networkingv1.NetworkPolicy
			raw, err := json.Marshal(o)
			require.NoError(t, err)
			require.NoError(t, yaml.UnmarshalStrict(raw, &p))
			all = append(all, p)
		}
	}
	return all
}

func selects(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}

// matches says whether a peer of a policy in the namespace kafka is the pod.
func matches(peer networkingv1.NetworkPolicyPeer, e end) bool {
	inNamespace := e.namespace == "kafka"
	if peer.NamespaceSelector != nil {
		inNamespace = selects(peer.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": e.namespace})
	}
	return inNamespace && (peer.PodSelector == nil || selects(peer.PodSelector, e.labels))
}

func passes(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, port int32, other end) bool {
	open := len(ports) == 0
	for _, p := range ports {
		open = open || p.Port.IntVal == port
	}
	met := len(peers) == 0
	for _, p := range peers {
		met = met || matches(p, other)
	}
	return open && met
}

// into says whether a pod that is selected for ingress can be reached at a port by
// another.
func (n network) into(pod end, port int32, from end) (selected, allowed bool) {
	for _, p := range n {
		if !selects(&p.Spec.PodSelector, pod.labels) {
			continue
		}
		selected = true
		for _, rule := range p.Spec.Ingress {
			allowed = allowed || passes(rule.Ports, rule.From, port, from)
		}
	}
	return selected, allowed
}

// outOf says the same of what a pod that is selected for egress may reach.
func (n network) outOf(pod end, port int32, to end) (selected, allowed bool) {
	for _, p := range n {
		if len(p.Spec.PolicyTypes) < 2 || !selects(&p.Spec.PodSelector, pod.labels) {
			continue
		}
		selected = true
		for _, rule := range p.Spec.Egress {
			allowed = allowed || passes(rule.Ports, rule.To, port, to)
		}
	}
	return selected, allowed
}

// flow is a connection and whether it is allowed.
type flow struct {
	from, to end
	port     int32
	allowed  bool
}

func (n network) holds(t *testing.T, flows ...flow) {
	t.Helper()
	for _, f := range flows {
		selected, allowed := n.into(f.to, f.port, f.from)
		require.True(t, selected, "%v", f)
		require.Equal(t, f.allowed, allowed, "%v", f)
	}
}

// Beside Strimzi's brokers Prometheus and the other sidecars get in, and who is
// named at the endpoint for Kafka's protocol.
func TestNetworkOfBrokers(t *testing.T) {
	n := newNetwork(t, `{cluster: prod, networkPolicy: {enabled: true, adminFrom: [{podSelector: {matchLabels: {app: kafka-ui}}}]}}`)
	require.Len(t, n, 1)
	require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, n[0].Spec.PolicyTypes, "what brokers reach is not ours")
	n.holds(t,
		flow{prometheus, broker, 9464, true}, flow{broker, broker, 9464, true}, flow{ui, broker, 9192, true},
		flow{client, broker, 9464, false}, flow{ui, broker, 9464, false}, flow{prometheus, broker, 9192, false},
		flow{foreign, broker, 9464, false}, flow{prometheus, broker, 9092, false})
	selected, _ := n.into(controller, 9464, prometheus)
	require.False(t, selected, "a pod that is a controller alone has no sidecar")
}

// Where all ask the quorum, the policies that Strimzi's lack are there.
func TestNetworkOfStrimzi(t *testing.T) {
	const values = `{cluster: prod, source: quorum, kafka: {bootstrap: ["b:9092", "b:9091"], controllers: ["c:9090"]}, networkPolicy: {enabled: true}`
	newNetwork(t, values+`}`).holds(t,
		flow{broker, controller, 9090, true}, flow{broker, broker, 9091, true}, flow{client, controller, 9090, false}, flow{standalone, controller, 9090, false})
	both := newNetwork(t, values+`, standalone: {enabled: true}}`)
	both.holds(t,
		flow{broker, controller, 9090, true}, flow{standalone, controller, 9090, true}, flow{standalone, broker, 9092, true},
		flow{standalone, broker, 9091, true}, flow{client, controller, 9090, false}, flow{client, broker, 9091, false}, flow{standalone, controller, 22, false})
	alone := newNetwork(t, `{cluster: prod, injection: {mode: none}, standalone: {enabled: true}, kafka: {bootstrap: ["b:9091"], controllers: ["c:9090"]}, networkPolicy: {enabled: true}}`)
	alone.holds(t, flow{standalone, controller, 9090, true}, flow{standalone, broker, 9091, true}, flow{broker, controller, 9090, false})
	require.Len(t, newNetwork(t, `{cluster: prod, injection: {mode: none}, standalone: {enabled: true}, kafka: {bootstrap: ["b:9091"], controllers: ["c:9090"]}, networkPolicy: {enabled: true, brokersIsolated: false}}`),
		1, "brokers that nothing isolates are left alone")
}

// A sidecar of its own reaches brokers, controllers, DNS and receivers of OTLP, and
// nothing else; who may ask it is who may ask the others.
func TestNetworkOfStandalone(t *testing.T) {
	const values = `{injection: {mode: none}, standalone: {enabled: true}, kafka: {bootstrap: ["b:9092", "d:9092"], controllers: ["c:9093"]}, networkPolicy: {enabled: true`
	n := newNetwork(t, values+`}}`)
	n.holds(t, flow{prometheus, standalone, 9464, true}, flow{client, standalone, 9464, false}, flow{prometheus, standalone, 9192, false})
	for port, want := range map[int32]bool{9092: true, 9093: true, 53: true, 4317: true, 4318: true, 443: false, 9464: false} {
		selected, allowed := n.outOf(standalone, port, collector)
		require.True(t, selected)
		require.Equal(t, want, allowed, port)
	}
	n = newNetwork(t, values+`, kafkaPorts: [9094], kafkaTo: [{podSelector: {matchLabels: {strimzi.io/cluster: prod}}}], otlpPorts: [4317],
	  otlpTo: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: telemetry}}}], httpFrom: []}}`)
	for _, f := range []flow{
		{standalone, broker, 9092, true}, {standalone, broker, 9094, true}, {standalone, controller, 9093, true}, {standalone, collector, 4317, true},
		{standalone, foreign, 9092, false}, {standalone, collector, 4318, false}, {standalone, broker, 4317, false},
	} {
		_, allowed := n.outOf(f.from, f.port, f.to)
		require.Equal(t, f.allowed, allowed, "%v", f)
	}
	n.holds(t, flow{prometheus, standalone, 9464, false})
}
