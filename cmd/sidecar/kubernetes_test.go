//go:build !beside

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
)

// emptyAPIServer permits everything, and has no pods. The file is a kubeconfig for it.
func emptyAPIServer(t *testing.T) (server *httptest.Server, file string) {
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"allowed":true}}`)
			return
		}
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"PodList","metadata":{},"items":[]}`)
	}))
	t.Cleanup(server.Close)
	file = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "`+server.URL+
		`"}}], users: [{name: u}], contexts: [{name: c, context: {cluster: c, user: u, namespace: kafka}}]}`), 0o600))
	return server, file
}

func TestKubernetesCommands(t *testing.T) {
	server, file := emptyAPIServer(t)
	o := runArgs([]string{"preflight", "--cluster", "prod", "--kubeconfig", file})
	require.Equal(t, cli.Found, o.code, o.stderr)
	require.Contains(t, o.stdout, "no pod in namespace kafka has the labels strimzi.io/broker-role=true,strimzi.io/cluster=prod")
	require.Empty(t, o.stderr)

	o = runArgs([]string{"preflight", "-n", "other", "--flavour", "custom", "--selector", "app=kafka", "--kubeconfig", file, "-o", "json"})
	require.Equal(t, cli.Found, o.code, o.stderr)
	var report struct {
		Namespace string `json:"namespace"`
		Checks    []struct {
			Check, Result, Seen string
		} `json:"checks"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &report))
	require.Equal(t, "other", report.Namespace)
	require.Len(t, report.Checks, 13)

	o = runArgs([]string{"upgrade-in-place", "--cluster", "prod", "--image", "new", "--kubeconfig", file})
	require.Equal(t, cli.NotFound, o.code)
	require.Equal(t, "kraftside: upgrade-in-place: no pod in namespace kafka has the labels strimzi.io/broker-role=true,strimzi.io/cluster=prod; "+
		"are --cluster, --flavour and -n right?\n", o.stderr)

	server.Close()
	for _, command := range []string{"preflight", "upgrade-in-place --image new"} {
		o = runArgs(append(strings.Fields(command), "--cluster", "prod", "--kubeconfig", file))
		require.Equal(t, cli.Failed, o.code)
		require.Contains(t, o.stderr, "connection refused; is the kubeconfig's server the right one, and reachable?")
	}
}
