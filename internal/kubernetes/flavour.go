package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kraftside/kraftside/internal/cli"
)

// Flavour is what differs by who made the brokers' pods. The chart has the same table in its
// templates; a test holds the two together.
type Flavour struct {
	// Name is that of the chart's value.
	Name string
	// Container is the broker's.
	Container string
	// User is the UID of the broker's image, where pods give none; 0: not known.
	User int64
	// labels of the brokers' pods. CLUSTER stands for the name of the cluster.
	labels map[string]string
}

// Custom is the flavour of pods that are told by labels.
const Custom = "custom"

var flavours = []Flavour{
	{Name: "strimzi", Container: "kafka", User: 1001, labels: map[string]string{"strimzi.io/cluster": "CLUSTER", "strimzi.io/broker-role": "true"}},
	{Name: "cfk", Container: "kafka", User: 1001, labels: map[string]string{"app": "CLUSTER", "platform.confluent.io/type": "kafka"}},
	{Name: "koperator", Container: "kafka", labels: map[string]string{"app": "kafka", "kafka_cr": "CLUSTER"}},
	{Name: "bitnami", Container: "kafka", User: 1001, labels: map[string]string{"app.kubernetes.io/instance": "CLUSTER", "app.kubernetes.io/part-of": "kafka"}},
	{Name: Custom, Container: "kafka"},
}

// Flavours are the names of all flavours, the chart's default first.
func Flavours() []string {
	names := make([]string, len(flavours))
	for i, f := range flavours {
		names[i] = f.Name
	}
	return names
}

// FlavourNamed is the flavour with a name of Flavours, or an error that names the nearest.
func FlavourNamed(name string) (Flavour, error) {
	at := slices.IndexFunc(flavours, func(f Flavour) bool { return f.Name == name })
	if at < 0 {
		return Flavour{}, fmt.Errorf("%s is no flavour; want one of %s%s", cli.Name(name), strings.Join(Flavours(), ", "), cli.DidYouMean(name, Flavours()))
	}
	return flavours[at], nil
}

// Labels are those of the pods of a cluster's brokers; none for Custom.
func (f *Flavour) Labels(cluster string) map[string]string {
	all := make(map[string]string, len(f.labels))
	for key, value := range f.labels {
		all[key] = strings.ReplaceAll(value, "CLUSTER", cluster)
	}
	return all
}

// Brokers says which pods are those of brokers.
type Brokers struct {
	// Cluster is the name of the Kafka cluster, as whoever made its pods calls it. It may be empty if
	// Selector is not.
	Cluster string
	Flavour Flavour
	// Selector of labels, instead of the flavour's.
	Selector string
}

// Validate checks what can be checked without a cluster.
func (b *Brokers) Validate() error {
	_, err := b.selector()
	return err
}

// selector is the label selector, in the form of the API.
func (b *Brokers) selector() (string, error) {
	switch {
	case b.Selector != "":
		s, err := labels.Parse(b.Selector)
		if err != nil {
			return "", fmt.Errorf("--selector: %w", err)
		}
		return s.String(), nil
	case b.Flavour.Name == Custom:
		return "", fmt.Errorf("flavour %s needs --selector, the labels of the brokers' pods", Custom)
	case b.Cluster == "":
		return "", fmt.Errorf("--cluster is missing: the name of the Kafka cluster, as %s has it", b.Flavour.Name)
	}
	set := labels.Set(b.Flavour.Labels(b.Cluster))
	if _, err := set.AsValidatedSelector(); err != nil {
		return "", fmt.Errorf("--cluster: %s cannot be the value of a label, by which the brokers' pods are found", cli.Name(b.Cluster))
	}
	return set.String(), nil
}

// title is what a report calls the brokers.
func (b *Brokers) title() string {
	if b.Cluster == "" {
		return cli.Escape(b.Selector)
	}
	return cli.Name(b.Cluster)
}
