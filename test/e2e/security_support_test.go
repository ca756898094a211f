//go:build e2e && unix

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafkaclient"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
)

// permission is a row of the table in docs/permissions.md.
type permission struct{ setting, asked, resource, operation, refusal string }

type permissionTable []permission

func readPermissions(t *testing.T) (table permissionTable) {
	text, err := os.ReadFile("../../docs/permissions.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 8 || !strings.Contains(cells[2], "=") {
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
		}
		table = append(table, permission{cells[2], cells[3], cells[4], cells[5], cells[6]})
	}
	require.Len(t, table, 5, "rows of the table")
	return table
}

// of is the only row about a setting and who is asked.
func (p permissionTable) of(t *testing.T, setting, asked string) permission {
	var found []permission
	for _, row := range p {
		if row.setting == setting && row.asked == asked {
			found = append(found, row)
		}
	}
	require.Len(t, found, 1, "rows about %s, asking %s", setting, asked)
	return found[0]
}

var topicResource = regexp.MustCompile(`^Topic (\S+)$`)

// acl is what to grant.
func (p permission) acl(t *testing.T) *kadm.ACLBuilder {
	operation, err := kmsg.ParseACLOperation(p.operation)
	require.NoError(t, err)
	b := kadm.NewACLs().Operations(operation).ResourcePatternType(kadm.ACLPatternLiteral)
	if m := topicResource.FindStringSubmatch(p.resource); m != nil {
		return b.Topics(m[1])
	}
	require.Equal(t, "Cluster kafka-cluster", p.resource)
	return b.Clusters()
}

// reading is a source that runs, and how it stands.
type reading struct {
	mu      sync.Mutex
	failure error
	ready   bool
}

func startReading(t *testing.T, run func(*reading) error) *reading {
	r, ended := new(reading), make(chan error, 1)
	go func() { ended <- run(r) }()
	t.Cleanup(func() { require.ErrorIs(t, <-ended, context.Canceled) })
	return r
}

func readQuorum(ctx context.Context, t *testing.T, s config.Security, clusterID string, controllers []string) *reading {
	a := kafkaclient.New("controllers", s, "e2e")
	q, err := metadatalog.NewQuorum(metadatalog.QuorumConfig{
		Controllers: controllers, ClusterID: clusterID, Dir: t.TempDir(), Dial: a.Dial, Client: a.Options(),
	})
	require.NoError(t, err)
	return startReading(t, func(r *reading) error { return q.Run(ctx, metadatalog.Position{}, metadataReading{r}) })
}

func (r *reading) problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

func (r *reading) caughtUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure == nil && r.ready
}

func (r *reading) set(failure error, ready bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure, r.ready = failure, ready
	return nil
}

// await polls until ok.
func (r *reading) await(ctx context.Context, t *testing.T, what string, ok func(*reading) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !ok(r) {
		select {
		case <-ctx.Done():
			require.Fail(t, "timed out", "%s; its problem: %v", what, r.problem())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func awaitAll(ctx context.Context, t *testing.T, what string, readings map[string]*reading, ok func(*reading) bool) {
	t.Helper()
	for name, r := range readings {
		r.await(ctx, t, name+": "+what, ok)
	}
}

// metadataReading implements metadatalog.Sink.
type metadataReading struct{ *reading }

func (metadataReading) LoadSnapshot(*metadatalog.SnapshotReader) error { return nil }
func (metadataReading) Append(*recordbatch.Batch) error                { return nil }
func (metadataReading) Reset(reason error) error                       { return reason }

func (m metadataReading) Progress(p metadatalog.Progress) error {
	if p.Problem != nil {
		return m.set(p.Problem, false)
	}
	return m.set(nil, p.Delivered.Offset > 0 && p.Lag() == 0)
}

// groupsReading implements offsetslog.Sink. One partition with records in it
// is enough: it has no others to wait for that lie on another broker.
type groupsReading struct{ *reading }

func (g groupsReading) Assigned(a offsetslog.Assignment) error {
	if a.Problem != nil {
		return g.set(a.Problem, false)
	}
	return nil
}

func (groupsReading) Resume(int32) offsetslog.Position {
	return offsetslog.Position{Offset: -1, Epoch: -1}
}
func (groupsReading) Start(offsetslog.Start) error   { return nil }
func (groupsReading) Append(*offsetslog.Batch) error { return nil }
func (groupsReading) Stop(int32) error               { return nil }

func (g groupsReading) Progress(p offsetslog.Progress) error {
	switch {
	case p.Problem != nil:
		return g.set(p.Problem, false)
	case p.End > 0 && p.Lag() == 0:
		return g.set(nil, true)
	}
	return nil
}

// secretFiles is a directory of secrets.
type secretFiles struct{ dir string }

func (f secretFiles) path(name string) string { return filepath.Join(f.dir, name) }

func (f secretFiles) write(t *testing.T, name string, content []byte) string {
	require.NoError(t, os.WriteFile(f.path(name), content, 0o600))
	return f.path(name)
}

func (f secretFiles) read(t *testing.T, name string) []byte {
	b, err := os.ReadFile(f.path(name))
	require.NoError(t, err)
	return b
}

func (f secretFiles) writeCertificate(t *testing.T, name string, c tls.Certificate) {
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	require.NoError(t, err)
	f.write(t, name+".cert", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}))
	f.write(t, name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
}

// selfSigned is a certificate that nobody trusts.
func selfSigned(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stranger"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
