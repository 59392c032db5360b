// Shapes has what a rewritten file may get wrong: where a body begins, which line something is on, what a loop is over,
// what a program knows of itself. What it prints must not change.
package main; import "fmt" // two on a line

import (
	_ "embed"
	"iter"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed main.go
var source string

var _tracerag_enter = "a name that is taken"

type pair[K comparable, V any] struct {
	key K
	val V
}

func (p *pair[K, V]) swap() (V, K) { return p.val, p.key }
func (pair[_, _]) nothing()        {}

type tree struct {
	left, right *tree
	n           int
}

func (t *tree) all() iter.Seq[int] {
	return func(yield func(int) bool) { t.push(yield) }
}

func (t *tree) push(yield func(int) bool) bool {
	return t == nil || t.left.push(yield) && yield(t.n) && t.right.push(yield)
}

func here() int { _, _, line, _ := runtime.Caller(1); return line }

//go:nosplit
func split(n int) int { return n + func() int { return 1 }() }

func loops() (sum int) {
	defer func() { sum++ }()
	t := &tree{&tree{nil, nil, 1}, &tree{nil, nil, 3}, 2}
	for n := range t.all() { sum += double(n) }
	for n := range t.all() {
		defer func() { sum += double(n) }()
		if n == 2 {
			break
		}
	}
outer:
	for n := range t.all() {
		for m := range t.all() {
			if m > n { continue outer }
			if n == 3 { break outer }
			sum += double(m)
		}
	}
	list := []int{1, 2, 3}
	for i, n := range list { sum += double(i * n) }
	for range list {
	}
	for i := range 3 { sum += double(i) }
	for _, r := range "abc" { sum += double(int(r)) }
	for k, v := range map[int]int{1: 2} { sum += double(k + v) }
	c := make(chan int, 2)
	c <- 1; c <- 2
	close(c)
	for n := range c { sum += double(n) }
	for n := range slices.Values(list) { sum += double(n) }
	for n := range evens { if n > 6 { return sum }; sum += double(n) }
	return -1
}

func evens(yield func(int) bool) { for n := 0; yield(n); n += 2 { } }

func double(n int) int { return 2 * n }

func pulled() (sum int) {
	next, stop := iter.Pull((&tree{&tree{n: 5}, nil, 7}).all())
	defer stop()
	for {
		n, ok := next()
		if !ok {
			return sum
		}
		sum += double(n)
	}
}

func ends() {
	var wg sync.WaitGroup
	wg.Go(func() { defer double(1); runtime.Goexit() })
	wg.Wait()
}

func caught() (err any) {
	defer func() { err = recover() }()
	var list []int
	return list[double(1)]
}

func deep(n int) int { if n == 0 { return here() }; return deep(n - 1) + 1 }

//line other.go:100
func renamed() int { return here() }

//line main.go:116
func stack() string {
	var names []string
	pcs := make([]uintptr, 20)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		names = append(names, fmt.Sprintf("%s:%d", f.Function, f.Line))
		if !more {
			return strings.Join(names, " ")
		}
	}
}

type printer interface{ print() string }
type one struct{ n int }

func (o one) print() string { return fmt.Sprint(o.n) }

func main() {
	p := &pair[string, int]{"a", 1}
	fmt.Println(p.swap())
	p.nothing()
	f, g := p.swap, one.print
	fmt.Println(f()); fmt.Println(g(one{2}), printer(&one{3}).print())
	fmt.Println(here(), loops(), pulled(), split(1), len(source), _tracerag_enter)
	fmt.Println(caught(), deep(50), renamed(), stack())
	func() { fmt.Println(here()) }()
	ends()
	fmt.Println(runtime.NumGoroutine(), testing.AllocsPerRun(100, func() { double(1) }))
	fmt.Println(strings.Map(func(r rune) rune { return r + 1 }, "HAL"))
	fmt.Println(slices.ContainsFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "TRACERAG_REBUILD") }))
	done := make(chan bool)
	func() { runtime.SetFinalizer(&one{4}, func(*one) { close(done) }) }()
	for range 100 {
		runtime.GC()
		select {
		case <-done:
		case <-time.After(10 * time.Millisecond):
			continue
		}
		break
	}
	lines := regexp.MustCompile(`main\.go:(\d+)`).FindAllString(string(debug.Stack()), -1)
	fmt.Println(lines)
}
