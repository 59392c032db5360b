//go:build twin

package shape

import "example.com/here"

func twin() { here.Call("twin b") }
