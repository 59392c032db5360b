//go:build linux && amd64

// Raw locks all its memory by a system call of its own.
package main

import (
	"fmt"
	"syscall"
)

func main() {
	const current, future = 1, 2
	_, _, errno := syscall.RawSyscall(syscall.SYS_MLOCKALL, current|future, 0, 0)
	fmt.Println(errno)
}
