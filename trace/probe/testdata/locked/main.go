//go:build linux && amd64

// Locked locks all its memory, what it has and what it will have, as far as it may,
// and calls step a thousand times. It exits with 3 if it may not.
package main

import (
	"fmt"
	"os"
	"syscall"
)

var total int

//go:noinline
func step() { total++ }

func main() {
	const current, future = 1, 2
	if err := syscall.Mlockall(current | future); err != nil {
		os.Exit(3)
	}
	for range 1000 {
		step()
	}
	fmt.Println(total)
}
