// Package filelock lets one process at a time do something. The system frees a lock when its
// process ends in any way.
package filelock

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// patience is how long Wait waits before it says so.
const patience = 200 * time.Millisecond

// Wait locks a file, which it makes if it is missing. While another process has the lock,
// wait is called once (unless nil), and Wait waits.
func Wait(ctx context.Context, file string, wait func()) (unlock func(), err error) {
	type locked struct {
		unlock func()
		err    error
	}
	got := make(chan locked, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(file).Lock()
		got <- locked{unlock, err}
	}()
	slow := time.After(patience)
	for {
		select {
		case l := <-got:
			return l.unlock, l.err
		case <-ctx.Done():
			go func() { // locking can't be interrupted: unlock as soon as it succeeds
				if l := <-got; l.err == nil {
					l.unlock()
				}
			}()
			return nil, ctx.Err()
		case <-slow:
			slow = nil
			if wait != nil {
				wait()
			}
		}
	}
}
