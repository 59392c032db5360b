// Package shape has functions of every kind.
package shape

import "example.com/here"

type T struct{ n int }

// Value has a value receiver.
//
//go:noinline
func (t T) Value() { here.Call("value method") }

//go:noinline
func (t *T) Pointer() { here.Call("pointer method") }

type List[E any] struct{ elems []E }

//go:noinline
func (l *List[E]) Push(e E) {
	l.elems = append(l.elems, e)
	here.Call("generic method")
	run(func() { here.Call("generic method literal"); _ = e })
}

func (l *List[E]) Each(yield func(E) bool) {
	for _, e := range l.elems {
		if !yield(e) {
			return
		}
	}
}

//go:noinline
func Map[A, B any](in []A, f func(A) B) (out []B) {
	here.Call("generic function")
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

// Parent has literals, two of them on one line.
//
//go:noinline
func Parent() {
	here.Call("parent")
	a, b := func() { here.Call("first of a line") }, func() { here.Call("second of a line") }
	run(a)
	run(b)
	run(func() {
		here.Call("outer")
		run(func() {
			here.Call("inner")
		})
	})
}

//go:noinline
func run(f func()) { f() }

// Inlined is copied into its callers, its literal with it.
func Inlined() {
	run(func() {
		here.Call("copied")
	})
}

//go:noinline
func rangeOver(l *List[int]) {
	for range l.Each {
		here.Call("range body")
		func() { here.Call("literal in range body") }()
	}
}

//go:noinline
func statements() {
	done := make(chan bool)
	go sendTo(done, "go")
	<-done
	defer sendTo(nil,
		"defer")
}

//go:noinline
func sendTo(done chan bool, id string) {
	here.Call("in " + id + " statement")
	if done != nil {
		done <- true
	}
}

var single = func() {
	here.Call("variable")
	run(func() { here.Call("literal in variable") })
}

var (
	before = 1
	// grouped has a comment.
	grouped = map[string]func(){
		"a": func() { here.Call("grouped") },
	}
)

// All calls everything here.
func All() {
	t := &T{}
	t.Value()
	t.Pointer()
	method := t.Pointer
	run(method)
	l := &List[int]{}
	l.Push(1)
	(&List[struct {
		A string `json:"a]b"`
	}]{}).Push(struct {
		A string `json:"a]b"`
	}{})
	Map([]int{1}, func(n int) string { here.Call("argument"); return "" })
	Parent()
	Inlined()
	rangeOver(l)
	statements()
	single()
	grouped["a"]()
	twin()
	crlf()
}
