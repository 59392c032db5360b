package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"tracerag/visible"
)

// Waiting is the line that says at a terminal what one is waiting for, when it takes
// longer than a second. Messages take its place. A nil one says nothing.
type Waiting struct {
	w     io.Writer
	mu    sync.Mutex
	what  string
	shown bool

	done       sync.Once
	end, ended chan struct{}
}

// waitBefore is how long nothing is shown.
const waitBefore = time.Second

// Wait says what is waited for until [Waiting.Done] is called.
func Wait(w io.Writer, what string) *Waiting {
	l := &Waiting{w: w, what: visible.Line(what), end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		start := time.Now()
		for {
			select {
			case <-l.end:
				l.Clear()
				return
			case <-time.After(waitBefore):
				l.show(time.Since(start))
			}
		}
	}()
	return l
}

// Done takes the line away for good. It may be called again.
func (l *Waiting) Done() {
	if l == nil {
		return
	}
	l.done.Do(func() { close(l.end) })
	<-l.ended
}

func (l *Waiting) show(since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "\rtracerag: %s ... %s\x1b[K", l.what, since.Round(time.Second))
	l.shown = true
}

// Say changes what is waited for.
func (l *Waiting) Say(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.what = visible.Line(what)
}

// Clear takes the line away, if there is one. It may be called with none.
func (l *Waiting) Clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = false
	}
}

// Breaker returns a writer whose text takes the place of the line.
func (l *Waiting) Breaker(w io.Writer) io.Writer { return lineBreaker{l, w} }

// lineBreaker is a writer whose text takes the place of the line.
type lineBreaker struct {
	line *Waiting
	io.Writer
}

func (w lineBreaker) Write(p []byte) (int, error) {
	w.line.Clear()
	return w.Writer.Write(p)
}
