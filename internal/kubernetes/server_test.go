package kubernetes

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
)

// object is an object of the API, or a part of one.
type object = map[string]any

// apiServer answers like one, from memory: lists, gets, reviews, dry runs, patches of images.
type apiServer struct {
	t  *testing.T
	mu sync.Mutex
	// objects by their paths.
	objects map[string]object
	// denied has what nobody may, such as "get nodes".
	denied []string
	// sidecar is added to pods that have the label of preflight; nil: to none.
	sidecar object
	// refusals are the answers for new pods with a sidecar, and for all others; "" is none.
	refusal, refusalOfAll string
	// smallTaken: pods that ask for next to nothing are taken all the same.
	smallTaken bool
	// patched, if not nil, is called when a pod was given an image; it may change the pod.
	patched func(pod object, image string)
	patches []string
}

// connect starts the server, and is a Cluster of its namespace kafka.
func (s *apiServer) connect() *Cluster {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	require.NoError(s.t, os.WriteFile(file, []byte(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "`+server.URL+
		`"}}], users: [{name: u}], contexts: [{name: c, context: {cluster: c, user: u, namespace: kafka}}]}`), 0o600))
	c, err := Connect(Access{Kubeconfig: file})
	require.NoError(s.t, err)
	c.poll, c.settle = 5*time.Millisecond, 10*time.Millisecond
	return c
}

// add takes objects as YAML documents.
func (s *apiServer) add(documents string) {
	for _, document := range strings.Split(documents, "\n---\n") {
		o := parse(s.t, document)
		kind := strings.ToLower(o["kind"].(string))
		plural := map[string]string{"mutatingadmissionpolicy": "mutatingadmissionpolicies", "mutatingpolicy": "mutatingpolicies"}[kind]
		if plural == "" {
			plural = kind + "s"
		}
		m := o["metadata"].(object)
		if space, is := m["namespace"].(string); is {
			plural = "namespaces/" + space + "/" + plural
		}
		version := o["apiVersion"].(string)
		root := map[bool]string{true: "/apis/", false: "/api/"}[strings.Contains(version, "/")]
		s.objects[root+version+"/"+plural+"/"+m["name"].(string)] = o
	}
}

// parse reads YAML as JSON is read.
func parse(t *testing.T, document string) (o object) {
	var raw any
	require.NoError(t, yaml.Unmarshal([]byte(document), &raw), document)
	b, err := json.Marshal(raw)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &o))
	return o
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body) // of a client in this process
	var sent object
	if len(body) > 0 {
		require.NoError(s.t, json.Unmarshal(body, &sent))
	}
	answer, status := s.answer(r, sent)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // to a client in this process
}

func (s *apiServer) answer(r *http.Request, sent object) (object, int) {
	_, isObject := s.objects[r.URL.Path]
	resource := path.Base(r.URL.Path)
	verb := map[string]string{"GET": "list", "POST": "create", "PATCH": "patch"}[r.Method]
	if parent := path.Base(path.Dir(r.URL.Path)); isObject || r.Method != "POST" && !strings.HasSuffix(resource, "s") || strings.HasPrefix(parent, "secrets") {
		resource = parent
		if r.Method == "GET" {
			verb = "get"
		}
	}
	switch {
	case slices.Contains(s.denied, verb+" "+resource):
		return refusal(http.StatusForbidden, "Forbidden", `cannot `+verb+` resource "`+resource+`"`)
	case resource == "selfsubjectaccessreviews":
		attributes := sent["spec"].(object)["resourceAttributes"].(object)
		sent["status"] = object{"allowed": !slices.Contains(s.denied, attributes["verb"].(string)+" "+attributes["resource"].(string))}
		return sent, http.StatusCreated
	case verb == "create":
		require.Equal(s.t, "All", r.URL.Query().Get("dryRun"), "a pod was created")
		return s.admit(sent)
	case verb == "list":
		return s.list(r.URL.Path, r.URL.Query().Get("labelSelector")), http.StatusOK
	case !isObject:
		return refusal(http.StatusNotFound, "NotFound", resource+" "+path.Base(r.URL.Path)+" not found")
	case verb == "patch":
		return s.patch(r.URL.Path, sent, r.URL.Query().Get("dryRun") != "")
	case resource == "secrets":
		require.Contains(s.t, r.Header.Get("Accept"), "as=PartialObjectMetadata", "the content of a Secret was asked for")
		return object{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": s.objects[r.URL.Path]["metadata"]}, http.StatusOK
	}
	return s.objects[r.URL.Path], http.StatusOK
}

func refusal(status int, reason, message string) (object, int) {
	return object{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": status}, status
}

func (s *apiServer) list(prefix, selector string) object {
	chosen, err := labels.Parse(selector)
	require.NoError(s.t, err)
	items := []any{}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if path.Dir(name) != prefix {
			continue
		}
		set := labels.Set{}
		all, _ := s.objects[name]["metadata"].(object)["labels"].(object)
		for key, value := range all {
			set[key] = value.(string)
		}
		if chosen.Matches(set) {
			items = append(items, s.objects[name])
		}
	}
	return object{"apiVersion": "v1", "kind": "List", "metadata": object{}, "items": items}
}

// admit is what becomes of a new pod.
func (s *apiServer) admit(pod object) (object, int) {
	meta, spec := pod["metadata"].(object), pod["spec"].(object)
	for _, field := range []string{"uid", "resourceVersion", "ownerReferences"} {
		require.NotContains(s.t, meta, field)
	}
	require.NotContains(s.t, spec, "nodeName")
	require.NotContains(s.t, pod, "status")
	annotations, _ := meta["annotations"].(object)
	all, _ := spec["initContainers"].([]any)
	there := slices.ContainsFunc(all, func(c any) bool { return c.(object)["name"] == containerName })
	labels, _ := meta["labels"].(object)
	if s.sidecar != nil && !there && labels[preflightLabel] == "true" && annotations[optOut] != "false" {
		name := meta["name"].(string)
		raw, _ := json.Marshal(s.sidecar) // it was JSON
		var sidecar object
		require.NoError(s.t, json.Unmarshal([]byte(strings.ReplaceAll(string(raw), "ORDINAL", name[len(name)-1:])), &sidecar))
		spec["initContainers"] = append(all, sidecar)
		volumes, _ := spec["volumes"].([]any)
		spec["volumes"] = append(volumes, object{"name": "kraftside-config", "configMap": object{"name": "ks-kraftside", "optional": true}})
		there = true
	}
	raw, _ := json.Marshal(spec["containers"]) // it was JSON
	small := s.smallTaken && strings.Contains(string(raw), `"1Mi"`)
	if message := s.refusalOfAll; message != "" && !small {
		return refusal(http.StatusForbidden, "Forbidden", message)
	}
	if s.refusal != "" && there {
		return refusal(http.StatusForbidden, "Forbidden", s.refusal)
	}
	pod["status"] = object{"phase": "Pending", "qosClass": "Burstable"}
	return pod, http.StatusCreated
}

func (s *apiServer) patch(name string, sent object, dry bool) (object, int) {
	containers := sent["spec"].(object)["initContainers"].([]any)
	require.Len(s.t, containers, 1)
	require.Len(s.t, sent["spec"], 1)
	change := containers[0].(object)
	require.Len(s.t, change, 2)
	require.Equal(s.t, containerName, change["name"])
	raw, _ := json.Marshal(s.objects[name]) // it was JSON
	var pod object
	require.NoError(s.t, json.Unmarshal(raw, &pod))
	if sent["metadata"].(object)["uid"] != pod["metadata"].(object)["uid"] {
		return refusal(http.StatusConflict, "Conflict", "Precondition failed: UID")
	}
	image := change["image"].(string)
	for _, c := range pod["spec"].(object)["initContainers"].([]any) {
		if c := c.(object); c["name"] == containerName {
			c["image"] = image
		}
	}
	if dry {
		return pod, http.StatusOK
	}
	s.patches = append(s.patches, path.Base(name)+" "+image)
	s.objects[name] = pod
	answer := maps.Clone(pod)
	if s.patched != nil {
		s.patched(pod, image)
	}
	return answer, http.StatusOK
}
