//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

type point struct {
	x, y int
	in   struct{ a [100]int }
	next *point
}

// Functions in which the first instructions dereference their argument: without a
// frame, with one, with a method's receiver, and with a closure's variable.

//go:noinline
func leaf(p *point) int { return p.y }

//go:noinline
func leafStore(p *point) { p.x = 1 }

//go:noinline
func leafFar(p *point, i int) int { return p.in.a[i&63] }

//go:noinline
func chained(p *point) int { return p.next.next.y }

//go:noinline
func framed(p *point) int {
	y := p.y
	step()
	return y
}

//go:noinline
func (p *point) method() int { return p.x + p.y }

//go:noinline
func (p point) value() int { return p.x }

type valuer interface{ value() int }

//go:noinline
func indexed(s []int, i int) int { return s[i] }

//go:noinline
func divided(a, b int) int { return a / b }

//go:noinline
func asserted(v any) int { return v.(int) }

//go:noinline
func called(f func() int) int { return f() }

//go:noinline
func written(m map[string]int) { m["a"] = 1 }

var sink int

// faults are the ways to panic by a fault.
var faults = []struct {
	name string
	do   func()
}{
	{"leaf", func() { sink = leaf(nil) }},
	{"leafStore", func() { leafStore(nil) }},
	{"leafFar", func() { sink = leafFar(nil, 3) }},
	{"chained", func() { sink = chained(&point{}) }},
	{"framed", func() { sink = framed(nil) }},
	{"method", func() { sink = (*point)(nil).method() }},
	{"value", func() { var p *point; sink = valuer(p).value() }},
	{"closure", func() {
		var p *point
		f := func() int { return p.x }
		sink = called(f)
	}},
	{"indexed", func() { sink = indexed(nil, 3) }},
	{"divided", func() { sink = divided(1, 0) }},
	{"asserted", func() { sink = asserted("x") }},
	{"called", func() { sink = called(nil) }},
	{"written", func() { written(nil) }},
}

// nils recovers from each a thousand times.
func nils() {
	for _, f := range faults {
		last := ""
		for range 1000 {
			last = recovered(f.do)
			step()
		}
		fmt.Println(f.name, last)
	}
}

//go:noinline
func recovered(f func()) (text string) {
	defer func() {
		var e runtime.Error
		if v := recover(); errors.As(v.(error), &e) {
			text = e.Error()
		}
	}()
	f()
	return "no panic"
}

// crashes are the ways to end.
var crashes = map[string]func(){
	"exit":     func() { os.Exit(3) },
	"panic":    func() { panic("on purpose") },
	"repanic":  func() { defer func() { panic(fmt.Sprint("again: ", recover())) }(); panic("once") },
	"abort":    func() { signalSelf(syscall.SIGABRT) },
	"segv":     func() { signalSelf(syscall.SIGSEGV) },
	"kill":     func() { signalSelf(syscall.SIGKILL) },
	"deadlock": func() { select {} },
	"goexit":   func() { runtime.Goexit() },
	"goroutine": func() {
		done := make(chan bool)
		go func() { defer close(done); sink = leaf(nil) }()
		<-done
		select {}
	},
}

// signalSelf sleeps until the signal came to one of the threads: the runtime would
// take a select without cases for a deadlock before that.
func signalSelf(sig syscall.Signal) {
	_ = syscall.Kill(os.Getpid(), sig)
	time.Sleep(time.Minute)
}

func init() {
	for _, f := range faults {
		crashes[f.name] = f.do
	}
}
