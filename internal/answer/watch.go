package answer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
)

// Watch shows the status again and again until ctx ends, which is no error. On
// a terminal text is shown in one place; else each answer follows the last. If
// there is none the first time, that is an error; later, it is shown, and asked
// again.
func Watch(ctx context.Context, out *cli.Output, every time.Duration, ask func(context.Context) (*Status, error)) error {
	again := time.NewTicker(every)
	defer again.Stop()
	w := watcher{out: out, inPlace: out.Terminal && (out.Format == cli.TextFormat || out.Format == cli.WideFormat)}
	for first := true; ; first = false {
		s, err := ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && first {
			return err
		}
		if err := w.show(s, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

type watcher struct {
	out     *cli.Output
	inPlace bool
	begun   bool
}

// show shows an answer, or why there is none.
func (w *watcher) show(s *Status, problem error) error {
	w.out.Clock.Now = w.out.Now()
	frame := *w.out
	var screen bytes.Buffer
	if w.inPlace {
		frame.Out, frame.Err = &screen, &screen
	}
	if problem == nil {
		problem = s.Lacking()
		if err := frame.Print(s, func(t *cli.Text) {
			if w.begun && !w.inPlace {
				t.Printf("\n")
			}
			t.Printf("%s\n", t.Dim(t.Format(t.Now.UnixMilli())))
			s.Text(t)
		}); err != nil {
			return err
		}
	}
	cli.Report(frame.Err, problem)
	if !w.inPlace {
		w.begun = true
		return nil
	}
	return w.draw(screen.String())
}

// Escape sequences of terminals (ECMA-48).
const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K" // from the cursor to its end
	clearRest   = "\x1b[J" // from the cursor on
)

// draw writes a frame over the last one. Nothing is cleared that is written
// anew, so that it does not flicker.
func (w *watcher) draw(frame string) error {
	start := home
	if !w.begun {
		start, w.begun = clearScreen+home, true
	}
	_, err := fmt.Fprint(w.out.Out, start, strings.ReplaceAll(frame, "\n", clearLine+"\n"), clearRest)
	return err
}
