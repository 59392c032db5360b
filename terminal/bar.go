package terminal

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"tracerag/visible"
)

// Bar shows how much of something is done. A nil one shows nothing.
type Bar struct {
	w    io.Writer
	what string
	bar  *progressbar.ProgressBar // nil: not begun
}

// NewBar returns a bar that is shown from the first [Bar.Set] on.
func NewBar(w io.Writer, what string) *Bar { return &Bar{w: w, what: visible.Line(what)} }

// Set shows how many of all are done.
func (b *Bar) Set(done, all int) {
	if b == nil {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(all, progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription("tracerag: "+b.what),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(false))
	}
	_ = b.bar.Set(done)
}

// Close takes the bar away. It may be called again.
func (b *Bar) Close() {
	if b != nil && b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}
