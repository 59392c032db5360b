package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"tracerag/output"
	"tracerag/visible"
)

// waiting is the line that says at a terminal what one is waiting for, when it takes
// longer than a second. Messages take its place.
type waiting struct {
	w     io.Writer
	mu    sync.Mutex
	what  string
	shown bool
}

// waitBefore is how long nothing is said.
const waitBefore = time.Second

// wait says what is waited for until done is called, which may be called again.
func (a *app) wait(what string) (done func()) {
	if a.quiet || !terminal(a.stderr) || a.getenv("TERM") == "dumb" || a.waiting != nil {
		return func() {}
	}
	line := &waiting{w: output.File(a.stderr), what: visible.Line(what)}
	a.waiting = line
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		start := time.Now()
		for {
			select {
			case <-end:
				line.clear()
				return
			case <-time.After(waitBefore):
				line.show(time.Since(start))
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(end)
		<-ended
		a.waiting = nil
	})
}

func (l *waiting) show(since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "\rtracerag: %s ... %s\x1b[K", l.what, since.Round(time.Second))
	l.shown = true
}

// say changes what is waited for.
func (l *waiting) say(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.what = visible.Line(what)
}

// clear takes the line away, if there is one. It may be called with none.
func (l *waiting) clear() {
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

// onFirstWrite calls began before the first byte is written.
type onFirstWrite struct {
	io.Writer
	began func()
}

func (w onFirstWrite) Write(p []byte) (int, error) {
	w.began()
	return w.Writer.Write(p)
}

// untilDone is a writer that gives up when ctx ends, also amid a write: of what reads
// our output nobody knows when it goes on.
type untilDone struct {
	ctx   context.Context
	w     io.Writer
	stuck bool // a write has not come back
}

func (u *untilDone) Write(p []byte) (int, error) {
	if u.stuck {
		return 0, u.ctx.Err()
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := u.w.Write(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-u.ctx.Done():
	}
	select { // what is only just being written is let through
	case r := <-done:
		return r.n, r.err
	case <-time.After(100 * time.Millisecond):
		u.stuck = true
		return 0, u.ctx.Err()
	}
}

// lineBreaker is a writer whose text takes the place of the line.
type lineBreaker struct {
	line *waiting
	io.Writer
}

func (w lineBreaker) Write(p []byte) (int, error) {
	w.line.clear()
	return w.Writer.Write(p)
}
