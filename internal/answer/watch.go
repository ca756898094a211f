package answer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
)

// Answer is what can be watched.
type Answer interface {
	Text(t *cli.Text)
	Lacking() error
}

// Watch shows an answer again and again until ctx ends, which is no error. On
// a terminal text is shown in one place; else each answer follows the last. If
// there is none the first time, that is an error; later, it is shown, and asked
// again.
func Watch(ctx context.Context, out *cli.Output, every time.Duration, ask func(context.Context) (Answer, error)) error {
	return watch(ctx, newWatcher(out), every, ask)
}

// WatchChanges is Watch for answers that stay the same for long: what would
// follow the last one, and says the same but for how long ago that was, is left
// out.
func WatchChanges(ctx context.Context, out *cli.Output, every time.Duration, ask func(context.Context) (Answer, error)) error {
	w := newWatcher(out)
	w.changes = true
	return watch(ctx, w, every, ask)
}

func watch(ctx context.Context, w *watcher, every time.Duration, ask func(context.Context) (Answer, error)) error {
	again := time.NewTicker(every)
	defer again.Stop()
	for first := true; ; first = false {
		a, err := ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && first {
			return err
		}
		if err := w.show(a, err); err != nil {
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
	changes bool
	begun   bool
	last    string // what was shown
}

func newWatcher(out *cli.Output) *watcher {
	return &watcher{out: out, inPlace: out.Terminal && (out.Format == cli.TextFormat || out.Format == cli.WideFormat)}
}

// show shows an answer, or why there is none.
func (w *watcher) show(a Answer, problem error) error {
	if w.changes && !w.inPlace {
		timeless, err := w.timeless(a, problem)
		if err != nil || timeless == w.last {
			return err
		}
		w.last = timeless
	}
	w.out.Clock.Now = w.out.Now()
	frame := *w.out
	var screen bytes.Buffer
	if w.inPlace {
		frame.Out, frame.Err = &screen, &screen
	}
	if problem == nil {
		problem = a.Lacking()
		if err := frame.Print(a, func(t *cli.Text) {
			if w.begun && !w.inPlace {
				t.Printf("\n")
			}
			t.Printf("%s\n", t.Dim(t.Format(t.Now.UnixMilli())))
			a.Text(t)
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

// timeless is what would be shown before anything had happened: no age is in
// it, since none is negative.
func (w *watcher) timeless(a Answer, problem error) (string, error) {
	var b bytes.Buffer
	frame := *w.out
	frame.Out, frame.Clock.Now = &b, time.UnixMilli(0)
	if problem == nil {
		problem = a.Lacking()
		if err := frame.Print(a, a.Text); err != nil {
			return "", err
		}
	}
	cli.Report(&b, problem)
	return b.String(), nil
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
