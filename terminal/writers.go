package terminal

import (
	"context"
	"io"
	"time"
)

// OnFirstWrite calls Began before the first byte is written.
type OnFirstWrite struct {
	io.Writer
	Began func()
}

// Write calls Began first.
func (w OnFirstWrite) Write(p []byte) (int, error) {
	w.Began()
	return w.Writer.Write(p)
}

// UntilDone is a writer that gives up when a context ends, also amid a write: when a
// reader of our output goes on is unknown.
type UntilDone struct {
	Context context.Context
	To      io.Writer
	stuck   bool // a write has not come back
}

// Write returns the context's error when that ends before the text is written.
func (u *UntilDone) Write(p []byte) (int, error) {
	if u.stuck {
		return 0, u.Context.Err()
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := u.To.Write(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-u.Context.Done():
	}
	select { // what is only just being written is let through
	case r := <-done:
		return r.n, r.err
	case <-time.After(100 * time.Millisecond):
		u.stuck = true
		return 0, u.Context.Err()
	}
}
