package shape

import "example.com/here"

func crlf() {
	here.Call("crlf")
}
