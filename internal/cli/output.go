package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Output is where a command's answer goes and in which form.
type Output struct {
	// Out takes the answer, and Err what is said beside it.
	Out, Err io.Writer
	Format   Format
	Clock    Clock
	// Terminal says that Out is a terminal, and Color that it may have colours.
	Terminal, Color bool
	// ShowsProgress says that somebody watches Err.
	ShowsProgress bool
	// Now paces progress.
	Now func() time.Time
}

// Standard is the output of the process: colours only on a terminal, and
// never with NO_COLOR (https://no-color.org) or on a dumb one.
func Standard() *Output {
	terminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	return &Output{
		Out: os.Stdout, Err: os.Stderr,
		Format:        TextFormat,
		Clock:         Clock{Now: time.Now(), Zone: time.Local},
		Terminal:      terminal(os.Stdout),
		Color:         terminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		ShowsProgress: terminal(os.Stderr) && os.Getenv("TERM") != "dumb",
		Now:           time.Now,
	}
}

// Wide says whether text is to have all columns.
func (o *Output) Wide() bool { return o.Format == WideFormat }

// Print writes v as JSON or YAML, or what text makes, as the format asks.
func (o *Output) Print(v any, text func(*Text)) error {
	var b []byte
	var err error
	switch o.Format {
	case JSONFormat:
		b, err = AppendJSON(nil, v)
	case YAMLFormat:
		if b, err = AppendJSON(nil, v); err == nil {
			b, err = AppendYAML(nil, b)
		}
	default:
		t := NewText(o)
		text(t)
		b = t.Bytes()
	}
	if err != nil {
		return err
	}
	_, err = o.Out.Write(b)
	return err
}
