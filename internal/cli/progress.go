package cli

import (
	"fmt"
	"time"
)

// progressPause is the least time between two looks of a progress line.
const progressPause = 200 * time.Millisecond

// Progress shows how far a long work is, on one line that is taken away at the
// end. The nil Progress shows nothing.
type Progress struct {
	out   *Output
	total int64
	done  int64
	next  time.Time // when it may be drawn again
	drawn bool
}

// NewProgress starts to show a work of so many bytes; nil if nobody watches.
// A work that is soon done is not shown.
func (o *Output) NewProgress(total int64) *Progress {
	if !o.ShowsProgress {
		return nil
	}
	return &Progress{out: o, total: total, next: o.Now().Add(progressPause)}
}

// Add says that n more bytes of what are done.
func (p *Progress) Add(n int64, what string) {
	if p == nil {
		return
	}
	p.done += n
	if now := p.out.Now(); !now.Before(p.next) {
		p.next, p.drawn = now.Add(progressPause), true
		fmt.Fprintf(p.out.Err, "\r\x1b[K%3d%% %s", 100*p.done/max(1, p.total, p.done), Escape(what))
	}
}

// Clear takes the line away, before something else is written or at the end.
func (p *Progress) Clear() {
	if p != nil && p.drawn {
		p.drawn = false
		fmt.Fprint(p.out.Err, "\r\x1b[K")
	}
}
