// Command zoo has one of each kind of function, and tells what its own
// runtime knows about them.
//
// It reads addresses from standard input, relative to main.main, and prints
// for each one the name, file and line of the innermost frame there. Then it
// prints the frames of a real stack.
package main

import (
	"bufio"
	"io"
	"os"
	"reflect"
	"runtime"
	"strconv"

	"example.com/lib"
	"zoo/deep/odd.v2"
	"zoo/tmpl"
)

type pair[K comparable, V any] struct {
	key K
	val V
}

//go:noinline
func (p *pair[K, V]) set(k K, v V) { p.key, p.val = k, v }

//go:noinline
func mapped[T, U any](xs []T, f func(T) U) (out []U) {
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}

type walker interface{ walk() []uintptr }

type dog struct{ name string }

// walk is called through a wrapper, for the interface holds a pointer.
//
//go:noinline
func (d dog) walk() []uintptr { return outer(len(d.name)) }

// outer and middle are inlined into walk, one inside the other.
func outer(n int) []uintptr { return middle(n + 1) }

func middle(n int) []uintptr {
	return stack(n)
}

//go:noinline
func stack(int) []uintptr {
	pcs := make([]uintptr, 64)
	return pcs[:runtime.Callers(1, pcs)]
}

// leaf has no prologue, and a body inlined from another file.
//
//go:noinline
func leaf(c *odd.Counter) int {
	return c.Add(2)
}

var total = initial()

func initial() int { return lib.Sum(1, 2) }

func init() { total++ }

func main() {
	c := &odd.Counter{}
	p := &pair[string, walker]{}
	p.set("rex", &dog{"rex"})
	strs := mapped([]int{1, 2}, func(i int) string { return strconv.Itoa(i) })
	ints := mapped(strs, func(s string) int { return len(s) })
	done := make(chan int)
	go func(n int) { done <- lib.Twice(tmpl.Render, n) }(leaf(c))
	defer func() { total = c.Slow() }()
	total += <-done + lib.Sum(ints...)

	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	start := uint64(reflect.ValueOf(main).Pointer())
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		d, err := strconv.ParseInt(in.Text(), 10, 64)
		if err != nil {
			panic(err)
		}
		show(out, start, []uintptr{uintptr(start + uint64(d) + 1)})
	}
	out.WriteString("stack\n")
	show(out, start, p.val.walk())
}

// show prints the frames for return addresses: relative pc, relative entry,
// name, file, line.
func show(out *bufio.Writer, start uint64, pcs []uintptr) {
	frames := runtime.CallersFrames(pcs)
	for {
		fr, more := frames.Next()
		for _, n := range []int64{int64(uint64(fr.PC) - start), int64(uint64(fr.Entry) - start)} {
			io.WriteString(out, strconv.FormatInt(n, 10)+"\t")
		}
		io.WriteString(out, fr.Function+"\t"+fr.File+"\t"+strconv.Itoa(fr.Line)+"\n")
		if !more {
			return
		}
	}
}
