// Command patches writes over its own functions while it runs, as libraries do that
// replace functions in tests. Its argument says which way. It prints what the functions
// return before, meanwhile and afterwards.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/breakpoint/testdata/owncode/patches/other"
)

//go:noinline
func greet(name string) string { return fmt.Sprint("hello, ", name) }

//go:noinline
func otherwise(name string) string { return fmt.Sprint("goodbye, ", name) }

// mix is without a stack check and calls nobody: its beginning can be copied.
//
//go:noinline
func mix(a, b, c, d int) int {
	a = a*31 + b
	b = b*17 + c
	c = c*13 ^ d
	d = d*7 - a
	return a ^ b<<3 ^ c<<7 ^ d
}

//go:noinline
func zero(a, b, c, d int) int { return 0 }

//go:noinline
func tiny() int { return 1 }

//go:noinline
func two() int { return 2 }

type counter struct{ n int }

//go:noinline
func (c *counter) next() int { c.n++; return c.n }

//go:noinline
func stay(c *counter) int { return 100 * c.n }

type nexter interface{ next() int }

// room is a function whose code gives way to a copy of another's beginning.
//
//go:noinline
func room(a, b, c, d int) int {
	for i := range a {
		b += i * c
		for j := range d {
			b ^= j * i
			c += b * 3
		}
	}
	return a + b + c + d
}

func main() {
	switch how := os.Args[1]; how {
	case "direct", "indirect":
		call := greet
		if how == "direct" {
			call = func(name string) string { return greet(name) }
		}
		for i := range 3 {
			fmt.Println(call("before"))
			undo := replace(greet, otherwise)
			for range 200 + i {
				if got := call("now"); got != "goodbye, now" {
					fmt.Println("not replaced:", got)
				}
			}
			undo()
			fmt.Println(call("after"))
		}
	case "method":
		c := &counter{}
		fmt.Println(c.next(), nexter(c).next())
		undo := replace((*counter).next, stay)
		fmt.Println(c.next(), nexter(c).next())
		undo()
		fmt.Println(c.next(), nexter(c).next())
	case "tiny":
		for range 1000 {
			undo := replace(tiny, two)
			if tiny() != 2 {
				fmt.Println("not replaced")
			}
			undo()
			if tiny() != 1 {
				fmt.Println("not as it was")
			}
		}
	case "original":
		fmt.Println(mix(1, 2, 3, 4), mix(5, 6, 7, 8))
		original := copied(mix, room)
		undo := replace(mix, zero)
		fmt.Println(mix(1, 2, 3, 4), original(1, 2, 3, 4), original(5, 6, 7, 8))
		undo()
		fmt.Println(mix(1, 2, 3, 4))
	case "two": // libraries, at the same time
		first := replace(greet, otherwise)
		second := other.Replace(other.Name, func() string { return "second" })
		fmt.Println(greet("both"), other.Name())
		first()
		fmt.Println(greet("one"), other.Name())
		second()
		fmt.Println(greet("none"), other.Name())
	case "wait": // to be attached to
		fmt.Println("waiting")
		os.Stdin.Read(make([]byte, 1))
		replace(tiny, two)
		fmt.Println(tiny())
	case "busy": // while other goroutines run other functions
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 20000 {
					mix(i, i, i, i)
				}
			})
		}
		for range 300 {
			undo := replace(tiny, two)
			if tiny() != 2 {
				fmt.Println("not replaced")
			}
			undo()
		}
		wg.Wait()
		fmt.Println(tiny())
	}
}

// replace writes a jump to another function over the beginning of one.
func replace(old, new any) (undo func()) {
	at := reflect.ValueOf(old).Pointer()
	jump := jumpTo(reflect.ValueOf(new).Pointer())
	before := append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(at)), len(jump))...)
	write(at, jump)
	return func() { write(at, before) }
}

// jumpTo is a jump that does not depend on where it stands: mov r11, to; jmp r11.
func jumpTo(to uintptr) []byte {
	b := []byte{0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3}
	*(*uintptr)(unsafe.Pointer(&b[2])) = to
	return b
}

// copied copies the first instructions of a function into another one, and returns
// that: it does what the first did, also when a jump is written over these.
func copied(fn, into func(a, b, c, d int) int) func(a, b, c, d int) int {
	at := reflect.ValueOf(fn).Pointer()
	code := unsafe.Slice((*byte)(unsafe.Pointer(at)), 64)
	n := 0
	for n < len(jumpTo(0)) {
		in, err := x86asm.Decode(code[n:], 64)
		if err != nil {
			panic(err)
		}
		if in.PCRel != 0 {
			panic("these instructions cannot be copied")
		}
		n += in.Len
	}
	write(reflect.ValueOf(into).Pointer(), append(append([]byte(nil), code[:n]...), jumpTo(at+uintptr(n))...))
	return into
}

func write(at uintptr, b []byte) {
	page := uintptr(os.Getpagesize())
	first := at &^ (page - 1)
	text := unsafe.Slice((*byte)(unsafe.Pointer(first)), at+uintptr(len(b))-first)
	protect(text, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(at)), len(b)), b)
	protect(text, syscall.PROT_READ|syscall.PROT_EXEC)
}

func protect(b []byte, prot int) {
	if err := syscall.Mprotect(b, prot); err != nil {
		panic(err)
	}
}
