//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package index

import (
	"os"
	"syscall"
	"time"
)

// leftAfter is how old a directory is at least that a killed process left.
const leftAfter = time.Minute

// lock locks a directory, for as long as the process lives or until it is unlocked. It does
// not wait: ok is false if another one has the lock.
func lock(dir string) (unlock func(), ok bool) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}, false
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return func() {}, false
	}
	return func() { f.Close() }, true
}
