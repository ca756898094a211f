//go:build e2e && unix

package dump

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	groups "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/dump/dumptest"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// TestSameAsDumpLogSegments: every record that a release of Kafka can write is
// printed by its own dump tool and here; so are broken records, tombstones,
// markers, and the two byte strings in a classic group.
func TestSameAsDumpLogSegments(t *testing.T) {
	// Names in the vectors are not ASCII. Older Java takes its encoding from here.
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dfile.encoding=UTF-8 -Dsun.stdout.encoding=UTF-8 -Dstdout.encoding=UTF-8")
	for _, version := range jvm.Versions() {
		for folder, kind := range map[string]string{"__cluster_metadata-0": "metadata", "__consumer_offsets-3": "group"} {
			t.Run(version+" "+kind, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), folder)
				log := logdirtest.New(t, dir, 0)
				for _, v := range vectors.Load(t, kind) {
					if v.Kafka == version || slices.Contains(v.Also, version) {
						log.AppendBatch(recordbatch.Header{BaseTimestamp: 1700000000000}, []recordbatch.Record{{Timestamp: 1700000000000, Key: v.KeyBytes, Value: v.Bytes}})
					}
				}
				if kind == "group" {
					appendOddities(t, log)
				}
				requireSameDump(t, version, log.Path(0))
			})
		}
	}
	t.Run("snapshots", func(t *testing.T) { // which hold versions of records that only 4.3 and later know
		for _, file := range []string{"kraft-version-0", "kraft-version-1"} {
			log := logdirtest.New(t, filepath.Join(t.TempDir(), "__cluster_metadata-0"), 0)
			requireSameDump(t, jvm.Newest, log.Snapshot(166, 2, readFile(t, loaderLog+file+".checkpoint")))
		}
	})
}

func requireSameDump(t *testing.T, version, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	kafka, err := realkafka.Dump(ctx, version, path)
	require.NoError(t, err)
	ours, _, err := print(t, cli.JSONFormat, everything, path)
	if cli.ExitCode(err) != cli.Corrupt {
		require.NoError(t, err)
	}
	t.Logf("%d records", dumptest.RequireSame(t, kafka, []byte(ours)))
}

// appendOddities adds what the vectors do not have.
func appendOddities(t *testing.T, log *logdirtest.Log) {
	add := func(attributes recordbatch.Attributes, key, value []byte) {
		log.AppendBatch(recordbatch.Header{Attributes: attributes, ProducerID: 7}, []recordbatch.Record{{Key: key, Value: value}})
	}
	for _, protocol := range []string{"consumer", "connect"} {
		for _, v := range classicGroups(t, protocol) {
			key, err := groups.AppendKey(nil, &groups.GroupMetadataKey{Group: "g"})
			require.NoError(t, err)
			value, err := groups.AppendValue(nil, v, 3)
			require.NoError(t, err)
			add(0, key, value)
		}
	}
	key, err := groups.AppendKey(nil, &groups.ConsumerGroupMetadataKey{GroupID: "g"})
	require.NoError(t, err)
	add(0, key, nil)
	add(0, key, []byte{0, 9, 1})           // unknown version
	add(0, key, []byte{0, 0, 1})           // cut short
	add(0, []byte{0, 99}, []byte{0, 0, 1}) // unknown type
	add(recordbatch.Control|recordbatch.Transactional, []byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 7})
	add(recordbatch.Control|recordbatch.Transactional, []byte{0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 7})
}
