//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package trial

import (
	"os"
	"syscall"
	"time"
)

// leftAfter is how old a directory is at least that a killed process left: its lock says all.
const leftAfter time.Duration = 0

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
