package demo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/topichash"
)

func open(t *testing.T) *Recording {
	r, err := Open()
	require.NoError(t, err)
	return r
}

// play plays the recording to its end, with the times of the text in UTC.
func play(t *testing.T, r *Recording, o Options) (Summary, string) {
	var text bytes.Buffer
	if o.Out == nil {
		o.Out = &cli.Output{}
	}
	o.Out.Out = &text
	p, err := New(r, o)
	require.NoError(t, err)
	s, err := p.Play(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.Close())
	return s, text.String()
}

// The files under testdata say what is told of the recording, and which
// verdicts each group has in turn, those included that are too short to tell.
func TestStory(t *testing.T) {
	datadriven.RunTest(t, "testdata/story", func(t *testing.T, d *datadriven.TestData) string {
		var verdicts sequences
		_, text := play(t, open(t), Options{onView: verdicts.add})
		switch d.Cmd {
		case "play":
			return text
		case "verdicts":
			return verdicts.String()
		}
		return "unknown command\n"
	})
}

// sequences are the verdicts of each group, without repetitions.
type sequences map[string][]string

func (s *sequences) add(v *pipeline.View) {
	if *s == nil {
		*s = make(sequences)
	}
	for g := range v.GroupsFrom("") {
		verdict := string(g.Answer.Verdict)
		if g.Answer.Reason != "" {
			verdict += "(" + g.Answer.Reason + ")"
		}
		if all := (*s)[g.ID]; len(all) == 0 || all[len(all)-1] != verdict {
			(*s)[g.ID] = append(all, verdict)
		}
	}
}

func (s sequences) String() string {
	var b strings.Builder
	for _, group := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s: %s\n", group, strings.Join(s[group], ", "))
	}
	return b.String()
}

// Every hash that Kafka's dump tool finds in the recording is compared, once,
// and explained by an image.
func TestEveryHash(t *testing.T) {
	r := open(t)
	types := map[groups.Type]int{groups.Consumer: 3, groups.Share: 11, groups.Streams: 17}
	var compared []StoredHash
	s, _ := play(t, r, Options{onCheck: func(c pipeline.Check) {
		compared = append(compared, StoredHash{
			Partition: c.Partition, Offset: c.Offset, Type: types[c.Type], Group: c.Group, Epoch: c.Epoch, MetadataHash: c.Stored,
		})
		require.Contains(t, []topichash.Verdict{topichash.Match, topichash.Pending, topichash.Stale}, c.Answer.Verdict, "%+v", c)
	}})
	require.ElementsMatch(t, r.Hashes, compared)
	require.Equal(t, len(r.Hashes), s.HashesCompared)
	require.Zero(t, s.Mismatches)
	for _, n := range types {
		require.True(t, slices.ContainsFunc(compared, func(h StoredHash) bool { return h.Type == n }), "no record of type %d", n)
	}
}

// What the store holds after the story is what there was at its end.
func TestStore(t *testing.T) {
	r, dir := open(t), t.TempDir()
	p, err := New(r, Options{StoreDir: dir})
	require.NoError(t, err)
	_, err = p.Play(t.Context())
	require.NoError(t, err)
	played := p.View()
	require.NoError(t, p.Close())

	st, warning, err := store.Open(dir, store.Options{ClusterID: r.ClusterID, Now: p.Now()})
	require.NoError(t, err)
	require.Nil(t, warning)
	again, err := pipeline.New(pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All, Store: st})
	require.NoError(t, err)
	again.Tick(p.Now())
	require.True(t, played.Image.Equal(again.View().Image))
	require.Equal(t, played.Image.Provenance(), again.View().Image.Provenance())
	require.Equal(t, described(played), described(again.View()))
	require.NoError(t, st.Close())
}

// described is all that a view says of the groups.
func described(v *pipeline.View) (all []pipeline.Group) {
	for g := range v.GroupsFrom("") {
		all = append(all, *g)
	}
	return all
}

// A wrong hash in the log is a mismatch. The record stays well-formed: its
// batch is written anew.
func TestMismatch(t *testing.T) {
	r := open(t)
	var last StoredHash
	for _, h := range r.Hashes {
		if h.Group == "payments" {
			last = h
		}
	}
	i := slices.IndexFunc(r.events, func(e event) bool {
		return e.partition == last.Partition && e.batch.BaseOffset <= last.Offset && last.Offset <= e.batch.LastOffset()
	})
	r.events[i].batch = falsify(t, &r.events[i].batch, last)
	s, text := play(t, r, Options{})
	require.Equal(t, 1, s.Mismatches)
	require.Contains(t, text, "mismatch\n")
	require.Contains(t, text, " 1 mismatches\n")
}

// At a speed the recording takes its time, and without one its lines do.
func TestPace(t *testing.T) {
	r := open(t)
	whole := time.Duration(r.events[len(r.events)-1].at-r.events[0].at) * time.Millisecond
	_, text := play(t, r, Options{})
	lines, headings := strings.Count(text, "\n  "), len(r.Steps)
	for name, c := range map[string]struct {
		o    Options
		want time.Duration
	}{
		"ten times as fast": {Options{Speed: 10, Pause: time.Hour}, whole / 10},
		"a line a second":   {Options{Pause: time.Second}, time.Duration(lines+2*headings) * time.Second},
		"at once":           {Options{}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			play(t, r, c.o)
			require.InDelta(t, c.want, time.Since(begin), float64(time.Millisecond), name)
		})
	}
}

// A player that is interrupted leaves nothing behind.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	views := 0
	p, err := New(open(t), Options{onView: func(*pipeline.View) {
		if views++; views == 100 {
			cancel()
		}
	}})
	require.NoError(t, err)
	_, err = p.Play(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, p.Close())
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// Colours are for those who asked for them.
func TestColor(t *testing.T) {
	_, plain := play(t, open(t), Options{})
	require.NotContains(t, plain, "\x1b")
	_, colored := play(t, open(t), Options{Out: &cli.Output{Color: true}})
	require.Contains(t, colored, "\x1b[32mmatch\x1b[0m")
	require.Contains(t, colored, "\x1b[33mstale\x1b[0m")
}
