package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"orders":          "orders",
		"__a.b-c:1@/ü中":   "__a.b-c:1@/ü中",
		"":                `""`,
		"two words":       `"two words"`,
		"no-break\u00a0x": "\"no-break\u00a0x\"",
		`quote"`:          `"quote\""`,
		`back\slash`:      `"back\\slash"`,
		"\x1b]0;x\a":      `"\u001B]0;x\u0007"`,
		"\u009b2J":        `"\u009B2J"`,
		"a\u202eb":        `"a\u202Eb"`,
		"a\nb":            `"a\nb"`,
		"\xff":            "\"\ufffd\"",
	} {
		require.Equal(t, want, Name(in))
	}
	require.Equal(t, `say "x" in C:\y`, Escape(`say "x" in C:\y`))
	require.Equal(t, "a\\u000Ab\\u0085\ufffd", Escape("a\nb\u0085\xff"))
}

func TestClock(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	c := Clock{Now: time.Date(2026, 3, 1, 0, 30, 0, 0, zone), Zone: zone}
	ms := func(s string) int64 {
		at, err := time.Parse(time.RFC3339Nano, s)
		require.NoError(t, err)
		return at.UnixMilli()
	}
	require.Equal(t, "00:08:17.317 CET", c.Format(ms("2026-02-28T23:08:17.317Z")), "today is a matter of the zone")
	require.Equal(t, "2026-02-28 23:59:59.999 CET", c.Format(ms("2026-02-28T22:59:59.999Z")))
	require.Equal(t, "2025-03-01 00:30:00.000 CET", c.Format(ms("2025-02-28T23:30:00Z")))
	require.Equal(t, "-", c.Format(-1))
	require.Equal(t, "1970-01-01 00:00:00.000 UTC", Clock{}.Format(0))
	require.NotEmpty(t, c.Format(1<<63-1))
}

func TestTable(t *testing.T) {
	for name, color := range map[string]bool{"plain": false, "color": true} {
		text := NewText(&Output{Color: color})
		text.Table("  ", [][]string{
			{text.Bold("GROUP"), "STATE", "EPOCH"},
			{"消费者", text.Red("Empty"), "3"},
			{"e\u0301", "", "12"},
			{"only one"},
			{"a", "b", ""},
		})
		got := string(text.Bytes())
		if color {
			require.Equal(t, 2, bytes.Count(text.Bytes(), []byte(styleEnd)))
			require.Contains(t, got, "\x1b[31mEmpty\x1b[0m   3\n")
			continue
		}
		require.Equal(t, "  GROUP    STATE   EPOCH\n"+
			"  消费者   Empty   3\n"+
			"  e\u0301                12\n"+
			"  only one\n"+
			"  a        b\n", got, name)
	}
}

func TestNearest(t *testing.T) {
	commands := []string{"dump", "diff", "check", "version", "completion"}
	for in, want := range map[string]string{
		"dmup": "dump", "dumpp": "dump", "chek": "check", "vresion": "version", "dif": "diff", "zzz": "", "completions": "completion", "": "",
	} {
		require.Equal(t, want, Nearest(in, commands), in)
	}
	require.Equal(t, "; did you mean dump?", DidYouMean("dmup", commands))
	require.Empty(t, DidYouMean("kubernetes", commands))
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	out := &Output{Err: &b, ShowsProgress: true, Now: func() time.Time { return now }}
	p := out.NewProgress(200)
	p.Add(50, "a")
	require.Empty(t, b.String(), "what is soon done is not shown")
	p.Clear()
	require.Empty(t, b.String())
	now = now.Add(progressPause)
	p.Add(50, "b\x1b")
	p.Add(1, "c")
	require.Equal(t, "\r\x1b[K 50% b\\u001B", b.String())
	now = now.Add(progressPause)
	p.Add(999, "d")
	p.Clear()
	p.Clear()
	require.Equal(t, "\r\x1b[K 50% b\\u001B\r\x1b[K100% d\r\x1b[K", b.String())

	out.ShowsProgress = false
	p = out.NewProgress(1)
	p.Add(1, "x")
	p.Clear()
	require.Nil(t, p)
}
