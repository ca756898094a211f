//go:build e2e && unix

package jvm_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/test/jvm"
)

var rewrite = flag.Bool("rewrite", false, "write the vectors into the packages that use them")

// committed says where the vectors that Kafka's classes make live.
var committed = map[string]string{
	"records.jsonl":         "internal/recordgen/vectors/testdata",
	"batches.jsonl":         "internal/recordbatch/testdata",
	"topichash_kafka.jsonl": "topichash/testdata",
	"grouphash_kafka.jsonl": "topichash/testdata",
	"topichash_kip.jsonl":   "topichash/testdata",
	"grouphash_kip.jsonl":   "topichash/testdata",
	"decisions.jsonl":       "admin/testdata",
	"configs.tsv":           "admin",
	segment:                 "image/loader/testdata/log",
}

const segment = "00000000000000000000.log"

// recordVersions are the releases whose records the vectors hold, newest first. 4.0.0 differs from 4.0.2 in code, not in bytes.
func recordVersions() []string { return append(jvm.Versions(), "4.0.0") }

// Every vector in the repository is what the programs here make of Kafka's classes today.
func TestVectors(t *testing.T) {
	dir := t.TempDir()
	makeRecords(t, dir)
	makeHashes(t, dir)
	program(t, jvm.Newest, "BatchVectors", filepath.Join(dir, "batches.jsonl"))
	program(t, jvm.Newest, "MetadataLog", dir)
	program(t, jvm.Newest, "AclDecisions", filepath.Join(dir, "decisions.jsonl"))
	program(t, jvm.Newest, "Configs", filepath.Join(dir, "configs.tsv"))
	for name, home := range committed {
		made, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		file := filepath.Join("..", "..", home, name)
		if *rewrite {
			require.NoError(t, os.WriteFile(file, made, 0o644))
			continue
		}
		have, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, bytes.Equal(made, have), "%s is not what Kafka makes; -rewrite writes it anew", file)
	}
}

func makeRecords(t *testing.T, dir string) {
	merge := []string{"merge", filepath.Join(dir, "records.jsonl")}
	for _, version := range recordVersions() {
		file := filepath.Join(dir, "records-"+version+".jsonl")
		program(t, version, "Records", "make", version, file)
		merge = append(merge, file)
	}
	program(t, jvm.Newest, "Records", merge...)
}

// makeHashes also proves that the releases with hashes agree.
func makeHashes(t *testing.T, dir string) {
	kafka := []string{filepath.Join(dir, "topichash_kafka.jsonl"), filepath.Join(dir, "grouphash_kafka.jsonl")}
	program(t, jvm.Newest, "TopicHashes", kafka...)
	kip := []string{filepath.Join(dir, "topichash_kip.jsonl"), filepath.Join(dir, "grouphash_kip.jsonl")}
	program(t, jvm.Newest, "KipHashes", slices.Concat(kafka, kip)...)
	for _, version := range jvm.Versions() {
		if version == jvm.Newest || strings.HasPrefix(version, "4.0.") { // which computes none
			continue
		}
		older := []string{filepath.Join(dir, "topics-"+version), filepath.Join(dir, "groups-"+version)}
		program(t, version, "TopicHashes", older...)
		for i := range older {
			want, err := os.ReadFile(kafka[i])
			require.NoError(t, err)
			got, err := os.ReadFile(older[i])
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "Kafka %s computes other hashes than %s", version, jvm.Newest)
		}
	}
}

// The descriptions of record types, the metadata log and the benchmark's snapshot come out the same every time.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"a", "b"} {
		program(t, jvm.Newest, "Schemas", jvm.Newest, filepath.Join(dir, "schemas-"+sub))
		program(t, jvm.Newest, "MetadataLog", filepath.Join(dir, sub, "log"))
		program(t, jvm.Newest, "ImageBenchmark", "gen", filepath.Join(dir, sub), "20", "3", "6", "lived-in")
	}
	requireSame(t, filepath.Join(dir, "schemas-a"), filepath.Join(dir, "schemas-b"))
	// The rest of what MetadataLog writes has maps in an order that Kafka leaves to chance.
	for _, name := range []string{"log/" + segment, "log/" + segment + ".jsonl", "log/image.tree.json", "00000000001000000000-0000000007.checkpoint"} {
		requireSame(t, filepath.Join(dir, "a", name), filepath.Join(dir, "b", name))
	}
	out := program(t, jvm.Newest, "ImageBenchmark", "load", filepath.Join(dir, "a"), "1")
	require.Contains(t, out, "records 87.000 1\n") // the feature level, 6 brokers, 20 topics of 3 partitions
}

func requireSame(t *testing.T, a, b string) {
	first, err := os.ReadFile(a)
	require.NoError(t, err)
	second, err := os.ReadFile(b)
	require.NoError(t, err)
	require.True(t, bytes.Equal(first, second), a)
}

func program(t *testing.T, version, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd, err := jvm.Command(ctx, version, name, []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}, args...)
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return string(out)
}
