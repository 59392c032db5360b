package deep

import "example.com/here"

// Declared is a function of a dependency.
func Declared() { here.Call("dep") }

// Literal is small enough to be inlined, and then its literal is copied.
func Literal() {
	run(func() {
		here.Call("dep literal")
	})
}

//go:noinline
func run(f func()) { f() }
