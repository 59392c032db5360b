//go:build linux && amd64

// Reserves reserves, for each number in its input, so many GiB of memory that it does not
// use, and calls step a hundred times.
package main

import (
	"fmt"
	"syscall"
)

var total int

//go:noinline
func step() { total++ }

func main() {
	fmt.Println("ready")
	for n := 0; ; {
		if _, err := fmt.Scan(&n); err != nil {
			return
		}
		_, err := syscall.Mmap(-1, 0, n<<30, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
		for range 100 {
			step()
		}
		fmt.Println(n, err)
	}
}
