//go:build linux && amd64

// Raw does as limits does, by a system call of its own.
package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

var kept [][]byte

//go:noinline
func step() { kept = append(kept, make([]byte, 1<<20)) }

func main() {
	limit := syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_AS, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); errno != 0 {
		fmt.Println(errno)
		os.Exit(3)
	}
	for range 200 {
		step()
	}
	fmt.Println(len(kept))
}
