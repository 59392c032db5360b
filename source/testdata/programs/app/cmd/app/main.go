package main

import (
	"example.com/Dep/deep"
	"example.com/app/shape"
	"example.com/here"
)

func init() { here.Call("init 0") }

func init() {
	func() { here.Call("init 1 literal") }()
}

func main() {
	here.Call("main")
	shape.All()
	deep.Declared()
	deep.Literal()
	deep.Parse()
	deep.Parse2()
	inOther()
}
