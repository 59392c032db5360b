// Starts starts itself and others in the ways that Go programs do.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		first()
		second()
		many()
		become()
		return
	}
	switch os.Args[1] {
	case "leaf":
		leaf(os.Args[2])
	case "middle":
		middle()
	case "fail":
		os.Exit(3)
	}
}

func first() {
	before()
	direct("a")
	after()
	shell()
	missing()
}

func before() { fmt.Println("before") }
func after()  { fmt.Println("after") }

// direct is small: it is inlined.
func direct(name string) { run("leaf", name) }

//go:noinline
func run(args ...string) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	fmt.Printf("%s: %q %v\n", strings.Join(args, " "), out, err)
}

func shell() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	out, err := exec.Command("/bin/sh", "-c", `"$0" leaf b; exec "$0" leaf c`, self).Output()
	fmt.Printf("shell: %q %v\n", out, err)
}

// missing tries to start what is not there.
func missing() {
	err := exec.Command("/none/such").Run()
	fmt.Println("missing:", err)
}

func second() {
	done := make(chan bool)
	go func() {
		defer close(done)
		defer run("fail")
		deep(4)
	}()
	<-done
}

// deep is recursive.
func deep(n int) {
	if n == 0 {
		run("middle")
		return
	}
	deep(n - 1)
}

func middle() {
	leaf("of middle")
	run("leaf", "d")
	leaf("of middle again")
}

func many() {
	var all sync.WaitGroup
	codes := make([]string, 8)
	for i := range codes {
		all.Go(func() {
			_, err := exec.Command("/proc/self/exe", "fail").Output()
			codes[i] = fmt.Sprint(err)
		})
	}
	all.Wait()
	fmt.Println(codes)
}

func become() {
	fmt.Println("becoming another one")
	err := syscall.Exec("/proc/self/exe", []string{"itself", "leaf", "e"}, os.Environ())
	panic(err)
}

//go:noinline
func leaf(name string) { fmt.Println("leaf", name) }
