// Command checksums compares its own code with what it was when it began, and that with
// the program's file.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"unsafe"
)

//go:linkname text runtime.text
var text byte

//go:linkname etext runtime.etext
var etext byte

func code() []byte {
	from := uintptr(unsafe.Pointer(&text))
	return unsafe.Slice(&text, uintptr(unsafe.Pointer(&etext))-from)
}

//go:noinline
func work(n int) int { return n * len(os.Args) }

func main() {
	first := sha256.Sum256(code())
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		panic(err)
	}
	section, err := f.Section(".text").Data()
	if err != nil {
		panic(err)
	}
	if !bytes.Equal(code(), section[:len(code())]) {
		fmt.Println("the code is not that of the file")
		os.Exit(3)
	}
	for n := range 1000 {
		work(n)
	}
	if sha256.Sum256(code()) != first {
		fmt.Println("the code has changed")
		os.Exit(4)
	}
	fmt.Println("the code is as it was")
}
