package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files in the repository are what the tables and the generator make; who
// changes either must run go generate.
func TestCommittedFilesAreGenerated(t *testing.T) {
	const root = "../.."
	files, err := generate()
	require.NoError(t, err)
	for name, source := range files {
		committed, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		require.NoError(t, err, "run go generate ./internal/recordgen")
		require.Equal(t, string(source), string(committed), "%s: run go generate ./internal/recordgen", name)
	}
	for _, target := range targets {
		committed, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(target.dir), "*"+suffix))
		require.NoError(t, err)
		for _, path := range committed {
			rel, err := filepath.Rel(root, path)
			require.NoError(t, err)
			require.Contains(t, files, filepath.ToSlash(rel), "generated no longer")
		}
	}
}

func TestRunWritesWhatIsCommitted(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "groups", "record")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	stale := filepath.Join(dir, "old"+suffix)
	kept := filepath.Join(dir, "doc.go")
	require.NoError(t, os.WriteFile(stale, nil, 0o644))
	require.NoError(t, os.WriteFile(kept, nil, 0o644))
	require.NoError(t, run(root))
	require.NoFileExists(t, stale)
	require.FileExists(t, kept)
	files, err := generate()
	require.NoError(t, err)
	for name, source := range files {
		written, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, source, written)
	}
}

func TestGoNames(t *testing.T) {
	for name, want := range map[string]string{
		"brokerId": "BrokerID", "topicIds": "TopicIDs", "isr": "Isr", "endPoints": "EndPoints", "kRaftVersion": "KRaftVersion",
		"id": "ID", "isMigratingZkBroker": "IsMigratingZkBroker", "groupInstanceId": "GroupInstanceID", "lastKnownElr": "LastKnownElr",
		"idle": "Idle", "metadataHash": "MetadataHash",
	} {
		require.Equal(t, want, goName(name))
	}
	require.Equal(t, "kraft_version_record_gen.go", fileName("KRaftVersionRecord"))
	require.Equal(t, "no_op_record_gen.go", fileName("NoOpRecord"))
}

func TestSpans(t *testing.T) {
	for text, want := range map[string]span{`"2"`: {2, 2}, `"0-2"`: {0, 2}, `"3+"`: {3, open}, `"none"`: {1, 0}} {
		var s span
		require.NoError(t, s.UnmarshalJSON([]byte(text)))
		require.Equal(t, want, s)
	}
	for _, text := range []string{`"x"`, `"2-1"`, `"-"`, `""`, `3`} {
		require.Error(t, new(span).UnmarshalJSON([]byte(text)), text)
	}
	require.Equal(t, "version >= 2", condition(span{0, 4}, span{2, open}))
	require.Equal(t, "version <= 2", condition(span{0, 4}, span{0, 2}))
	require.Equal(t, "version == 1", condition(span{0, 4}, span{1, 1}))
	require.Equal(t, "version >= 1 && version <= 2", condition(span{0, 4}, span{1, 2}))
}

// A table that the generator would get wrong is refused.
func TestTableChecks(t *testing.T) {
	structs := map[string]*layout{"S": {Name: "S"}}
	for _, f := range []*field{
		{Name: "a", Type: "int128"},
		{Name: "a", Type: "[][]int32"},
		{Name: "a", Type: "[]S", Nullable: true, Default: []byte("null")},
		{Name: "a", Type: "string", Default: []byte("null")},
		{Name: "a", Type: "string", Secret: true},
	} {
		require.Error(t, (&layout{Name: "L", Fields: []*field{f}}).check(structs), f.Type)
	}
	require.NoError(t, (&layout{Name: "L", Fields: []*field{{Name: "a", Type: "[]S"}}}).check(structs))
}
