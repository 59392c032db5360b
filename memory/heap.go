// Package memory is about the memory of this process: how much it may have, and when its
// garbage is collected.
package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// firstCollection is the size of the heap, in bytes, up to which garbage is left alone.
// Most commands end below it.
const firstCollection = 64 << 20

// StartHeap has garbage collected for the first time when the heap has that size, and
// from then on as usual. The runtime begins at 4 MiB, and a command that reads a few
// binaries would collect eight times, in the time for which a program waits to be started.
func StartHeap() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	percent := debug.SetGCPercent(-1) // or the range for large pages would be collected twice
	largePages(firstCollection)
	const first = 4 << 20 // at 100 %
	debug.SetGCPercent(firstCollection / first * 100)
	// Cleanups run after a collection.
	runtime.AddCleanup(new([16]byte), func(percent int) {
		if p := chosen.Load(); p > 0 {
			percent = int(p)
		}
		debug.SetGCPercent(percent)
	}, percent)
}

// chosen is the percentage of CollectAt; 0 is none.
var chosen atomic.Int32

// CollectAt has garbage collected when the heap has grown by so many percent of what is in use, in
// place of 100: for work that takes much memory, and can take a little longer.
func CollectAt(percent int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	chosen.Store(int32(percent))
	debug.SetGCPercent(percent)
}

// CollectWithin has garbage collected more often as so many bytes are used up: else the
// heap may be twice what is in use. 0 changes nothing.
func CollectWithin(limit int64) {
	if limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
