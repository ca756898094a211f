package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// answer has what the answers of commands have.
type answer struct {
	Name  string         `json:"name"`
	Hash  int64          `json:"hash,string"`
	Big   int64          `json:"big"`
	At    Time           `json:"at"`
	None  Time           `json:"none"`
	List  []string       `json:"list"`
	Empty []string       `json:"empty"`
	Map   map[string]any `json:"map"`
	Null  *string        `json:"null"`
}

var sample = answer{
	Name: "evil\x1b[2J\u009b\u202e<&>", Hash: math.MinInt64, Big: math.MaxInt64, At: 1700000000317, None: -1,
	List: []string{"no", "1:20", "0x1F", "~", "a: b", "", "line\nfeed", "#x", "ok", "1e3", "-", "on", "\uffff", "2026-01-01"},
	Map:  map[string]any{"on": 1, "t-1": []int{}, "12": 2.5},
}

func TestPrint(t *testing.T) {
	for format, want := range map[Format]string{
		TextFormat: "short\n",
		WideFormat: "short and long\n",
		JSONFormat: `{
  "name": "evil\u001b[2J\u009B\u202E<&>",
  "hash": "-9223372036854775808",
  "big": 9223372036854775807,
  "at": "2023-11-14T22:13:20.317Z",
  "none": null,
  "list": [
    "no",
    "1:20",
    "0x1F",
    "~",
    "a: b",
    "",
    "line\nfeed",
    "#x",
    "ok",
    "1e3",
    "-",
    "on",
    "\uFFFF",
    "2026-01-01"
  ],
  "empty": null,
  "map": {
    "12": 2.5,
    "on": 1,
    "t-1": []
  },
  "null": null
}
`,
		YAMLFormat: `name: "evil\e[2J\x9B\u202E<&>"
hash: "-9223372036854775808"
big: 9223372036854775807
at: "2023-11-14T22:13:20.317Z"
none: null
list:
  - "no"
  - "1:20"
  - "0x1F"
  - "~"
  - 'a: b'
  - ""
  - "line\nfeed"
  - "#x"
  - ok
  - "1e3"
  - "-"
  - "on"
  - "\uFFFF"
  - "2026-01-01"
empty: null
map:
  "12": 2.5
  "on": 1
  t-1: []
"null": null
`,
	} {
		var b bytes.Buffer
		o := &Output{Out: &b, Format: format}
		require.NoError(t, o.Print(&sample, func(text *Text) {
			text.Printf("short")
			if text.Wide {
				text.Printf(" and long")
			}
			text.Printf("\n")
		}))
		require.Equal(t, want, b.String(), format)
	}
}

func TestPrintFails(t *testing.T) {
	broken := errors.New("broken pipe")
	o := &Output{Out: failing{broken}, Format: JSONFormat}
	require.ErrorIs(t, o.Print(1, nil), broken)
	require.ErrorContains(t, o.Print(math.Inf(1), nil), "write JSON")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestParseFormat(t *testing.T) {
	for _, name := range Formats() {
		f, err := ParseFormat(name)
		require.NoError(t, err)
		require.Equal(t, Format(name), f)
	}
	_, err := ParseFormat("jsno")
	require.EqualError(t, err, "jsno is no output format; want text, wide, json or yaml; did you mean json?")
	_, err = ParseFormat("go-template")
	require.EqualError(t, err, "go-template is no output format; want text, wide, json or yaml")
}

// FuzzYAML: whatever a string is, JSON and YAML give it back, and neither holds
// a byte that acts on a terminal.
func FuzzYAML(f *testing.F) {
	for _, s := range sample.List {
		f.Add(s)
	}
	f.Add(sample.Name)
	f.Add("\x00\x7f\u0085\u2028\ufeff\ufffe\ufffd\U0001f600\u0300\t tab\r")
	f.Add(" leading: and trailing ")
	f.Fuzz(func(t *testing.T, s string) {
		s = string([]rune(s)) // JSON has no bytes that are not UTF-8
		text, err := AppendJSON(nil, []string{s})
		require.NoError(t, err)
		var back []string
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, []string{s}, back)
		require.Empty(t, acting(text))

		text, err = AppendYAML(nil, text)
		require.NoError(t, err)
		back = nil
		require.NoError(t, yaml.Unmarshal(text, &back), "%s", text)
		require.Equal(t, []string{s}, back, "%s", text)
		require.Empty(t, acting(text))
	})
}

// acting is what in a text is more than can be seen, line ends apart.
func acting(text []byte) string {
	seen := bytes.ReplaceAll(text, []byte("\n"), nil)
	if escaped := Escape(string(seen)); escaped != string(seen) {
		return escaped
	}
	return ""
}
