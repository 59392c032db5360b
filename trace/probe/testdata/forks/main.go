//go:build linux && amd64

// Forks goes on in two processes, of which no one starts another program: both compute the
// same, in the same goroutine, with memory that is shared unless it is private.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

var calls uint64

type walker interface{ walk(depth int, r uint32) }

type (
	once  struct{}
	twice struct{}
)

func (once) walk(depth int, r uint32) { even(depth, r) }
func (twice) walk(depth int, r uint32) {
	odd(depth, r)
	even(depth-1, 7*r)
}

//go:noinline
func even(depth int, r uint32) {
	calls++
	if depth <= 0 {
		return
	}
	r = r*1664525 + 1013904223
	if r&4096 != 0 {
		odd(depth-1, r)
	} else {
		var w walker = once{}
		if r&8192 != 0 {
			w = twice{}
		}
		w.walk(depth-1, r)
	}
	if r&65536 != 0 {
		func() {
			defer func() { _ = recover() }()
			fails(depth-1, r)
		}()
	}
}

//go:noinline
func odd(depth int, r uint32) {
	calls++
	if depth <= 0 {
		return
	}
	r = r*1664525 + 1013904223
	for i := range r >> 20 & 3 {
		even(depth-1, r+i)
	}
}

//go:noinline
func fails(depth int, r uint32) {
	calls++
	if depth <= 0 {
		return
	}
	r = r*1664525 + 1013904223
	odd(depth-1, r)
	if r&(1<<17) != 0 {
		panic(1)
	}
}

func work() uint64 {
	calls = 0
	for i := range uint32(5000) {
		even(12, 7*i)
	}
	return calls
}

func main() {
	debug.SetGCPercent(-1) // its threads are not in the child
	runtime.GOMAXPROCS(1)
	want := work()
	pid, _, errno := syscall.RawSyscall(syscall.SYS_FORK, 0, 0, 0)
	if errno != 0 {
		fmt.Println(errno)
		os.Exit(3)
	}
	right := true
	for range 10 {
		right = right && work() == want
	}
	if pid == 0 {
		if !right {
			syscall.Exit(1)
		}
		syscall.Exit(0)
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(int(pid), &status, 0, nil)
	fmt.Println(right, status, err)
	os.Exit(7)
}
