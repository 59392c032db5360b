package main

import "example.com/here"

func inOther() { here.Call("main other") }
