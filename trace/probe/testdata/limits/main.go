//go:build linux && amd64

// Limits sets its address space a limit that suffices for it, and uses memory.
package main

import (
	"fmt"
	"os"
	"syscall"
)

var kept [][]byte

//go:noinline
func step() { kept = append(kept, make([]byte, 1<<20)) }

func main() {
	const most = 4 << 30
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	for range 200 {
		step()
	}
	fmt.Println(len(kept))
}
