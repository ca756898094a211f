package logfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// touch makes empty files below the current directory.
func touch(t *testing.T, names ...string) {
	for _, name := range names {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
}

// show is what was found, a line a partition.
func show(found []*Partition) string {
	var b strings.Builder
	for _, p := range found {
		fmt.Fprintf(&b, "%s %d in %s:", p.Log, p.Number, p.Dir)
		for _, f := range p.Files {
			fmt.Fprintf(&b, " %s", filepath.Base(f.Path))
			if f.Snapshot {
				fmt.Fprintf(&b, "@%d-%d", f.EndOffset, f.Epoch)
			} else if f.Newest {
				b.WriteString("!")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const (
	segment0  = "00000000000000000000.log"
	segment9  = "00000000000000000009.log"
	snapshot5 = "00000000000000000005-0000000001.checkpoint"
	bootstrap = "00000000000000000000-0000000000.checkpoint"
)

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	touch(t,
		"logs/__cluster_metadata-0/"+segment9, "logs/__cluster_metadata-0/"+segment0, "logs/__cluster_metadata-0/"+snapshot5,
		"logs/__cluster_metadata-0/"+bootstrap, "logs/__cluster_metadata-0/00000000000000000009.index",
		"logs/__cluster_metadata-0/00000000000000000003.log.deleted", "logs/__cluster_metadata-0/00000000000000000008-0000000001.checkpoint.part",
		"logs/__consumer_offsets-10/"+segment0, "logs/__consumer_offsets-2/"+segment0, "logs/__consumer_offsets-2.0a-delete/"+segment0,
		"logs/__transaction_state-0/"+segment0, "logs/__share_group_state-1/"+segment0, "logs/orders-0/"+segment0, "logs/meta.properties",
		"copy/"+segment0, "copy/"+snapshot5, "plain/"+segment0, "empty/x", "bootstrap.checkpoint", "some.log",
		"__consumer_offsets-7/partition.metadata")
	for name, c := range map[string]struct {
		paths []string
		log   Log
		want  string
	}{
		"a partition": {[]string{"logs/__cluster_metadata-0"}, "",
			"metadata 0 in logs/__cluster_metadata-0: " + bootstrap + "@0-0 " + snapshot5 + "@5-1 " + segment0 + " " + segment9 + "!\n"},
		"log.dirs": {[]string{"logs/"}, "", "metadata 0 in logs/__cluster_metadata-0: " + bootstrap + "@0-0 " + snapshot5 + "@5-1 " + segment0 + " " + segment9 + "!\n" +
			"offsets 2 in logs/__consumer_offsets-2: " + segment0 + "!\n" +
			"offsets 10 in logs/__consumer_offsets-10: " + segment0 + "!\n" +
			"transactions 0 in logs/__transaction_state-0: " + segment0 + "!\n" +
			"share 1 in logs/__share_group_state-1: " + segment0 + "!\n"},
		"one log of log.dirs": {[]string{"logs"}, Shares, "share 1 in logs/__share_group_state-1: " + segment0 + "!\n"},
		"files of a partition, in any order and twice": {[]string{
			"logs/__cluster_metadata-0/" + segment9, "logs/__cluster_metadata-0/" + segment0, "logs/./__cluster_metadata-0/" + segment0,
		}, "", "metadata 0 in logs/__cluster_metadata-0: " + segment0 + " " + segment9 + "!\n"},
		"an older segment":           {[]string{"logs/__cluster_metadata-0/" + segment0}, "", "metadata 0 in logs/__cluster_metadata-0: " + segment0 + "\n"},
		"the name wins":              {[]string{"logs/__cluster_metadata-0/" + segment0}, Offsets, "metadata 0 in logs/__cluster_metadata-0: " + segment0 + "\n"},
		"a folder with a snapshot":   {[]string{"copy"}, "", "metadata -1 in copy: " + snapshot5 + "@5-1 " + segment0 + "!\n"},
		"a folder that is told":      {[]string{"plain"}, Offsets, "offsets -1 in plain: " + segment0 + "!\n"},
		"a snapshot of another name": {[]string{"bootstrap.checkpoint"}, "", "metadata -1 in .: bootstrap.checkpoint@-1--1\n"},
		"a segment of another name":  {[]string{"some.log"}, Transactions, "transactions -1 in .: some.log!\n"},
		"a deleted segment":          {[]string{"logs/__cluster_metadata-0/00000000000000000003.log.deleted"}, "", "metadata 0 in logs/__cluster_metadata-0: 00000000000000000003.log.deleted\n"},
		"several":                    {[]string{"copy", "logs/__consumer_offsets-2"}, "", "metadata -1 in copy: " + snapshot5 + "@5-1 " + segment0 + "!\noffsets 2 in logs/__consumer_offsets-2: " + segment0 + "!\n"},
	} {
		found, err := Find(c.paths, c.log)
		require.NoError(t, err, name)
		require.Equal(t, c.want, show(found), name)
	}
	for path, c := range map[string]struct {
		code cli.Code
		text string
	}{
		"nowhere":              {cli.NotFound, "open nowhere: there is no such file or folder"},
		"empty":                {cli.NotFound, "read empty: it has no segment, no snapshot and no partition of __cluster_metadata, __consumer_offsets, __transaction_state, __share_group_state;"},
		"__consumer_offsets-7": {cli.NotFound, "read __consumer_offsets-7: it has no segment and no snapshot"},
		"plain":                {cli.BadUsage, "cannot tell which log plain/" + segment0 + " is of, neither by the folder's name nor by what it holds; say --log metadata|offsets|"},
		"some.log":             {cli.BadUsage, "cannot tell which log some.log is of"},
	} {
		_, err := Find([]string{path}, "")
		require.ErrorContains(t, err, c.text)
		require.Equal(t, c.code, cli.ExitCode(err))
	}
	t.Chdir("logs/__consumer_offsets-2")
	found, err := Find([]string{"."}, "")
	require.NoError(t, err)
	require.Equal(t, "offsets 2 in .: "+segment0+"!\n", show(found))
	require.Equal(t, "__consumer_offsets-2", found[0].Name())
	require.Equal(t, "x", (&Partition{Dir: "x", Number: Unknown}).Name())
}

func TestTheContentTellsTheMetadataLog(t *testing.T) {
	for name, c := range map[string]struct {
		records []recordbatch.Record
		control recordbatch.Attributes
		want    Log
	}{
		"no key":        {[]recordbatch.Record{{Value: []byte{1}}}, 0, Metadata},
		"leader change": {[]recordbatch.Record{{Key: []byte{0, 0, 0, 2}}}, recordbatch.Control, Metadata},
		"marker":        {[]recordbatch.Record{{Key: []byte{0, 0, 0, 1}}}, recordbatch.Control, ""},
		"key":           {[]recordbatch.Record{{Key: []byte{0, 1}}}, 0, ""},
		"no records":    {nil, 0, ""},
	} {
		dir := t.TempDir()
		log := logdirtest.New(t, dir, 3)
		log.AppendBatch(recordbatch.Header{Attributes: c.control}, c.records)
		found, err := Find([]string{dir}, "")
		if c.want == "" {
			require.Equal(t, cli.BadUsage, cli.ExitCode(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, found[0].Log, name)
	}
}

func TestParseLog(t *testing.T) {
	for _, name := range append(Logs(), "") {
		log, err := ParseLog(name)
		require.NoError(t, err)
		require.Equal(t, Log(name), log)
	}
	_, err := ParseLog("metdata")
	require.EqualError(t, err, "metdata is no log; there are metadata, offsets, transactions, share; did you mean metadata?")
	require.Equal(t, cli.BadUsage, cli.ExitCode(err))
}

func TestReader(t *testing.T) {
	dir := t.TempDir()
	log := logdirtest.New(t, dir, 0)
	log.Append(1, "a")
	log.Append(1, "b", "c")
	log.Preallocate(100)
	f := &File{Path: log.Path(0), Newest: true}
	r, err := f.Open()
	require.NoError(t, err)
	for _, want := range log.Batches() {
		b, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, want.Bytes(), b.Bytes())
	}
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Unfinished(), "zeros are the end")
	r.Close()

	log = logdirtest.New(t, t.TempDir(), 0)
	log.Append(1, "a")
	log.Append(1, "b", "c")
	log.AppendTorn(1, 20, "d")
	f.Path = log.Path(0)
	for _, newest := range []bool{true, false} {
		f.Newest = newest
		r, err = f.Open()
		require.NoError(t, err)
		for range 2 {
			_, err = r.Next()
			require.NoError(t, err)
		}
		at := r.Position()
		_, err = r.Next()
		if newest {
			require.ErrorIs(t, err, io.EOF)
			err = r.Unfinished()
		}
		var damage *logdir.CorruptError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, logdir.CorruptError{Path: f.Path, Position: at, Offset: 3, Err: damage.Err}, *damage)
		require.ErrorIs(t, err, recordbatch.ErrPartial)
		r.Close()
	}

	_, err = (&File{Path: filepath.Join(dir, "none")}).Open()
	require.ErrorIs(t, err, fs.ErrNotExist)
	r, err = (&File{Path: dir}).Open()
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorContains(t, err, "read "+dir+": ")
	r.Close()
}

func TestSnapshotReader(t *testing.T) {
	r, err := newFile("../../image/loader/testdata/log/kraft-version-0.checkpoint", 0).Open()
	require.NoError(t, err)
	defer r.Close()
	require.Zero(t, r.LogTime())
	batches := 0
	for ; err == nil; batches++ {
		_, err = r.Next()
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 8, batches)
	require.EqualValues(t, 1700000000710, r.LogTime())
}
