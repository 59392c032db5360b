package memory

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePages has the heap grow in large pages up to some bytes, where the system leaves that
// to programs (transparent huge pages: madvise). The kernel takes less time for one page of
// 2 MiB than for 512 of 4 KiB, and commands of moments touch most of their memory once. The
// runtime asks for none: so the heap is made to grow at once, without touching it, and the
// kernel is asked for its range.
func largePages(bytes int) {
	b := make([]byte, bytes)
	const page = 2 << 20
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from := (at + page - 1) &^ (page - 1)
	if n := (at + uintptr(len(b)) - from) &^ (page - 1); n > 0 {
		_ = unix.Madvise(b[from-at:][:n], unix.MADV_HUGEPAGE)
	}
	b = nil
	runtime.GC() // of next to nothing: it gives the range back to the heap
}
