package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// firstCollection is the size of the heap, in bytes, up to which garbage is left alone.
// Most commands end below it.
const firstCollection = 64 << 20

// startHeap has garbage collected for the first time when the heap has that size, and
// from then on as ever. The runtime begins at 4 MiB, and a command that reads a few
// binaries would collect eight times, in the time for which a program waits to be started.
func startHeap() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	const first = 4 << 20 // at 100 %
	percent := debug.SetGCPercent(firstCollection / first * 100)
	// Cleanups run after a collection.
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, percent)
}
