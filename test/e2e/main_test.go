//go:build e2e && unix

package e2e

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/test/jvm"
)

var releases = flag.String("kafka", os.Getenv("KRAFTSIDE_KAFKA_VERSIONS"),
	"releases of Kafka to test on, separated by commas; \"all\" for every one, empty for the newest")

// versions are the releases that were asked for.
func versions(t *testing.T) []string {
	switch *releases {
	case "":
		return []string{jvm.Newest}
	case "all":
		return jvm.Versions()
	}
	asked := strings.Split(*releases, ",")
	for _, v := range asked {
		require.Contains(t, jvm.Versions(), v, "a release that the project is tested against")
	}
	return asked
}

// hasNewest says whether the newest release is among those that were asked for.
func hasNewest(t *testing.T) bool { return slices.Contains(versions(t), jvm.Newest) }

const (
	// patience is how long anything that a test waits for may take. On a
	// machine with nothing else to do it takes a twentieth of that.
	patience     = 90 * time.Second
	pollInterval = 20 * time.Millisecond
)

// eventually polls until check has nothing to complain of.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			require.NoError(t, err, "%s, after %s", what, patience)
		}
		pause(t, pollInterval)
	}
}

// throughout polls for a while, during which check must have nothing to
// complain of.
func throughout(t testing.TB, d time.Duration, what string, check func() error) {
	t.Helper()
	for deadline := time.Now().Add(d); time.Now().Before(deadline); pause(t, pollInterval) {
		require.NoError(t, check(), what)
	}
}

func pause(t testing.TB, d time.Duration) {
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// within bounds one request.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
