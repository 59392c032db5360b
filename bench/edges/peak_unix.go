//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peak returns the memory in MiB that this process took at most.
func peak() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss) >> 20
	}
	return int64(r.Maxrss) >> 10
}
