// Command protects maps memory for code of its own and protects it, as compilers do that
// make code while they run. So it might as well take away what protects its text, and
// in some ways of running it does. Its argument says which.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	switch os.Args[1] {
	case "compile":
		fmt.Println(compiled(41))
	case "sealed": // before any long function has run
		seal()
	case "sealing": // while they run
		go func() {
			time.Sleep(5 * time.Millisecond)
			seal()
		}()
		for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
			long(1)
		}
	case "patch": // what a program of this kind does not do
		at := reflect.ValueOf(step).Pointer()
		jump := []byte{0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3}
		*(*uintptr)(unsafe.Pointer(&jump[2])) = reflect.ValueOf(leap).Pointer()
		text := unsafe.Slice((*byte)(unsafe.Pointer(at&^4095)), 8192)
		fmt.Println(step(1))
		protect(text, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(at)), len(jump)), jump)
		protect(text, syscall.PROT_READ|syscall.PROT_EXEC)
		fmt.Println(step(1))
	}
	sum := 0
	for n := range 100 {
		sum += long(n) + last(n)
	}
	fmt.Println(sum, step(1))
}

//go:noinline
func step(n int) int { return int(fmt.Sprint(n)[0]) }

//go:noinline
func leap(n int) int { return int(fmt.Sprint(n)[0]) + 1000 }

// compiled runs code that was made a moment ago: lea rax, [rax+1]; ret.
func compiled(n int) int {
	b, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	copy(b, []byte{0x48, 0x8d, 0x40, 1, 0xc3})
	protect(b, syscall.PROT_READ|syscall.PROT_EXEC)
	entry := unsafe.Pointer(&b[0])
	code := unsafe.Pointer(&entry)
	return (*(*func(int) int)(unsafe.Pointer(&code)))(n)
}

func protect(b []byte, prot int) {
	if err := syscall.Mprotect(b, prot); err != nil {
		panic(err)
	}
}

// seal makes sure that nobody can write to the program's code.
func seal() {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	here := uint64(reflect.ValueOf(main).Pointer())
	for s := bufio.NewScanner(f); s.Scan(); {
		from, rest, _ := strings.Cut(s.Text(), "-")
		to, _, _ := strings.Cut(rest, " ")
		a, _ := strconv.ParseUint(from, 16, 64)
		b, _ := strconv.ParseUint(to, 16, 64)
		if a <= here && here < b {
			protect(unsafe.Slice((*byte)(unsafe.Pointer(uintptr(a))), b-a), syscall.PROT_READ|syscall.PROT_EXEC)
		}
	}
}

// long is a function whose lines are watched.
//
//go:noinline
func long(n int) int {
	sum := step(n)
	if n%2 == 0 {
		sum += n * 1
	} else {
		sum -= 0
	}
	if n%3 == 1 {
		sum += n * 2
	} else {
		sum -= 1
	}
	if n%4 == 2 {
		sum += n * 3
	} else {
		sum -= 2
	}
	if n%5 == 0 {
		sum += n * 4
	} else {
		sum -= 3
	}
	if n%6 == 1 {
		sum += n * 5
	} else {
		sum -= 4
	}
	if n%7 == 2 {
		sum += n * 6
	} else {
		sum -= 5
	}
	if n%8 == 0 {
		sum += n * 7
	} else {
		sum -= 6
	}
	if n%9 == 1 {
		sum += n * 8
	} else {
		sum -= 7
	}
	if n%10 == 2 {
		sum += n * 9
	} else {
		sum -= 8
	}
	if n%11 == 0 {
		sum += n * 10
	} else {
		sum -= 9
	}
	if n%12 == 1 {
		sum += n * 11
	} else {
		sum -= 10
	}
	if n%13 == 2 {
		sum += n * 12
	} else {
		sum -= 11
	}
	if n%14 == 0 {
		sum += n * 13
	} else {
		sum -= 12
	}
	if n%15 == 1 {
		sum += n * 14
	} else {
		sum -= 13
	}
	if n%16 == 2 {
		sum += n * 15
	} else {
		sum -= 14
	}
	if n%17 == 0 {
		sum += n * 16
	} else {
		sum -= 15
	}
	if n%18 == 1 {
		sum += n * 17
	} else {
		sum -= 16
	}
	if n%19 == 2 {
		sum += n * 18
	} else {
		sum -= 17
	}
	if n%20 == 0 {
		sum += n * 19
	} else {
		sum -= 18
	}
	if n%21 == 1 {
		sum += n * 20
	} else {
		sum -= 19
	}
	if n%22 == 2 {
		sum += n * 21
	} else {
		sum -= 20
	}
	if n%23 == 0 {
		sum += n * 22
	} else {
		sum -= 21
	}
	if n%24 == 1 {
		sum += n * 23
	} else {
		sum -= 22
	}
	if n%25 == 2 {
		sum += n * 24
	} else {
		sum -= 23
	}
	if n%26 == 0 {
		sum += n * 25
	} else {
		sum -= 24
	}
	if n%27 == 1 {
		sum += n * 26
	} else {
		sum -= 25
	}
	if n%28 == 2 {
		sum += n * 27
	} else {
		sum -= 26
	}
	if n%29 == 0 {
		sum += n * 28
	} else {
		sum -= 27
	}
	if n%30 == 1 {
		sum += n * 29
	} else {
		sum -= 28
	}
	if n%31 == 2 {
		sum += n * 30
	} else {
		sum -= 29
	}
	if n%32 == 0 {
		sum += n * 31
	} else {
		sum -= 30
	}
	if n%33 == 1 {
		sum += n * 32
	} else {
		sum -= 31
	}
	return sum
}

// last is another one, which runs when the code is sealed.
//
//go:noinline
func last(n int) int {
	sum := 1 + step(n)
	if n%2 == 0 {
		sum += n * 1
	} else {
		sum -= 0
	}
	if n%3 == 1 {
		sum += n * 2
	} else {
		sum -= 1
	}
	if n%4 == 2 {
		sum += n * 3
	} else {
		sum -= 2
	}
	if n%5 == 0 {
		sum += n * 4
	} else {
		sum -= 3
	}
	if n%6 == 1 {
		sum += n * 5
	} else {
		sum -= 4
	}
	if n%7 == 2 {
		sum += n * 6
	} else {
		sum -= 5
	}
	if n%8 == 0 {
		sum += n * 7
	} else {
		sum -= 6
	}
	if n%9 == 1 {
		sum += n * 8
	} else {
		sum -= 7
	}
	if n%10 == 2 {
		sum += n * 9
	} else {
		sum -= 8
	}
	if n%11 == 0 {
		sum += n * 10
	} else {
		sum -= 9
	}
	if n%12 == 1 {
		sum += n * 11
	} else {
		sum -= 10
	}
	if n%13 == 2 {
		sum += n * 12
	} else {
		sum -= 11
	}
	if n%14 == 0 {
		sum += n * 13
	} else {
		sum -= 12
	}
	if n%15 == 1 {
		sum += n * 14
	} else {
		sum -= 13
	}
	if n%16 == 2 {
		sum += n * 15
	} else {
		sum -= 14
	}
	if n%17 == 0 {
		sum += n * 16
	} else {
		sum -= 15
	}
	if n%18 == 1 {
		sum += n * 17
	} else {
		sum -= 16
	}
	if n%19 == 2 {
		sum += n * 18
	} else {
		sum -= 17
	}
	if n%20 == 0 {
		sum += n * 19
	} else {
		sum -= 18
	}
	if n%21 == 1 {
		sum += n * 20
	} else {
		sum -= 19
	}
	if n%22 == 2 {
		sum += n * 21
	} else {
		sum -= 20
	}
	if n%23 == 0 {
		sum += n * 22
	} else {
		sum -= 21
	}
	if n%24 == 1 {
		sum += n * 23
	} else {
		sum -= 22
	}
	if n%25 == 2 {
		sum += n * 24
	} else {
		sum -= 23
	}
	if n%26 == 0 {
		sum += n * 25
	} else {
		sum -= 24
	}
	if n%27 == 1 {
		sum += n * 26
	} else {
		sum -= 25
	}
	if n%28 == 2 {
		sum += n * 27
	} else {
		sum -= 26
	}
	if n%29 == 0 {
		sum += n * 28
	} else {
		sum -= 27
	}
	if n%30 == 1 {
		sum += n * 29
	} else {
		sum -= 28
	}
	if n%31 == 2 {
		sum += n * 30
	} else {
		sum -= 29
	}
	if n%32 == 0 {
		sum += n * 31
	} else {
		sum -= 30
	}
	if n%33 == 1 {
		sum += n * 32
	} else {
		sum -= 31
	}
	return sum
}
