// Code generated from grammar.y. DO NOT EDIT.

package deep

//line grammar.y:40

import "example.com/here"

// Parse was written in grammar.y.
//
//go:noinline
func Parse() {
	here.Call("grammar")
//line yaccpar:7
	func() {
		here.Call("grammar literal")
	}()
}

//line ../gone/template.y:3
//go:noinline
func Parse2() { here.Call("grammar elsewhere") }
