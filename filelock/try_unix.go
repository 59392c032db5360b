//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"os"
	"syscall"
	"time"
)

// Locks says whether Try can lock a directory on this system.
const Locks = true

// LeftAfter is the age from which an unlocked directory is taken as left by a killed process: a new
// directory has no lock for a moment.
const LeftAfter = time.Minute

// Try locks a directory, for as long as the process lives or until it is unlocked. It does
// not wait: ok is false if another one has the lock.
func Try(dir string) (unlock func(), ok bool) {
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
