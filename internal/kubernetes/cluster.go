package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kraftside/kraftside/internal/cli"
)

// Access is how an API server is reached: as kubectl does.
type Access struct {
	// Kubeconfig is a file. Empty: those of $KUBECONFIG, the one in the home directory, or the account
	// of the pod that the command runs in.
	Kubeconfig string
	// Context of it; empty: the current one.
	Context string
	// Namespace of the brokers; empty: that of the context.
	Namespace string
}

// Cluster is one namespace of a Kubernetes cluster.
type Cluster struct {
	objects   dynamic.Interface
	metadata  metadata.Interface
	namespace string
	poll      time.Duration // between looks at what changes
	settle    time.Duration // for which a container has to run before that counts
}

// requestTimeout is longer than an API server lets a webhook take.
const requestTimeout = 40 * time.Second

// Connect makes a Cluster. Nobody is asked yet. The error has the code of a wrong configuration.
func Connect(a Access) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: a.Context}
	overrides.Context.Namespace = a.Namespace
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, cli.Errorf(cli.BadUsage, "there is no kubeconfig; give one with --kubeconfig, or in $KUBECONFIG")
	}
	if err != nil {
		return nil, cli.Errorf(cli.BadUsage, "read the kubeconfig: %w; give one with --kubeconfig", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, cli.Errorf(cli.BadUsage, "read the kubeconfig: %w; give a namespace with -n", err)
	}
	config.UserAgent, config.WarningHandler, config.Timeout = "kraftside", rest.NoWarnings{}, requestTimeout
	config.QPS = -1 // requests go one after the other, which limits them enough
	c := &Cluster{namespace: namespace, poll: time.Second, settle: 5 * time.Second}
	if c.objects, err = dynamic.NewForConfig(config); err == nil {
		c.metadata, err = metadata.NewForConfig(config)
	}
	if err != nil {
		return nil, cli.Errorf(cli.BadUsage, "use the kubeconfig: %w", err)
	}
	return c, nil
}

// The resources that are read.
var (
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	quotas     = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	reviews    = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	policies   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}
	bindings   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"}
	kyverno    = schema.GroupVersionResource{Group: "policies.kyverno.io", Version: "v1", Resource: "mutatingpolicies"}
)

// in is a resource of the namespace.
func (c *Cluster) in(r schema.GroupVersionResource) dynamic.ResourceInterface {
	return c.objects.Resource(r).Namespace(c.namespace)
}

// get reads an object into a type that has the fields that are wanted of it.
func get[T any](ctx context.Context, from dynamic.ResourceInterface, name string) (*T, error) {
	u, err := from.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return decoded[T](u.Object)
}

// list reads all objects that a selector has.
func list[T any](ctx context.Context, from dynamic.ResourceInterface, selector string) ([]*T, error) {
	all, err := from.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	out := make([]*T, len(all.Items))
	for i := range all.Items {
		if out[i], err = decoded[T](all.Items[i].Object); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func decoded[T any](o map[string]any) (*T, error) {
	v := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, v); err != nil {
		return nil, fmt.Errorf("decode what the API server says: %w", err)
	}
	return v, nil
}

// isAnswer says whether an error is what the API server answered, as opposed to none. Credentials
// that it does not know are none either.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsUnauthorized(err)
}

// isAbsent says whether there is no such object, or no such kind of objects.
func isAbsent(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// failed is the error of a command that could not go on.
func failed(doing string, err error) error {
	advice := ""
	switch {
	case errors.Is(err, context.Canceled):
		advice = "; it was interrupted, and changed nothing"
	case apierrors.IsUnauthorized(err):
		advice = "; the credentials of the kubeconfig are not valid (any more)"
	case !isAnswer(err):
		advice = "; is the kubeconfig's server the right one, and reachable?"
	}
	return cli.Errorf(cli.Failed, "%s: %w%s", doing, err, advice)
}

// some joins names, of many the first.
func some(names []string) string {
	const most = 4
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
