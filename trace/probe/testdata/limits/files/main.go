//go:build linux && amd64

// Files sets the number of its open files a limit, as servers do.
package main

import (
	"fmt"
	"syscall"
)

func main() {
	var limit syscall.Rlimit
	fmt.Println(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	limit.Cur = limit.Max
	fmt.Println(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
}
