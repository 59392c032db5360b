//go:build unix

// Hazards does one thing, named by its argument, that is hard on a debugger:
//
//	exec       replaces itself by itself, with the argument "return"
//	return     calls step once and ends
//	overflow   a recursion without end; exit code 2
//	threads    100 goroutines, each locked to a thread, call step
//	signals    5,000 signals to itself while it calls step 200 times
//	vfork      50 children, one after the other, while other goroutines call step
//	trap       SIGTRAP to itself, handled; then step
//	breakpoint its own breakpoint instruction; exit code 2
//	stop       stops itself; somebody must continue it
//	exits      20 threads call step while the process ends; exit code 7
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
)

var total atomic.Int64

//go:noinline
func step() { total.Add(1) }

func main() {
	if err := do(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "hazards:", err)
		os.Exit(1)
	}
	fmt.Println(os.Args[1], total.Load())
}

func do(what string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	switch what {
	case "exec":
		step()
		return syscall.Exec(self, []string{self, "return"}, os.Environ())
	case "return":
		step()
	case "overflow":
		step()
		debug.SetMaxStack(8 << 20)
		fmt.Println(overflow(1))
	case "threads":
		threads(100)
	case "signals":
		return signals(5000, 200)
	case "vfork":
		return vfork(50)
	case "trap":
		return trap()
	case "breakpoint":
		step()
		runtime.Breakpoint()
	case "stop":
		step()
		fmt.Println("stopping")
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return err
		}
		step()
	case "exits":
		for range 20 {
			go func() {
				runtime.LockOSThread()
				for {
					step()
				}
			}()
		}
		for total.Load() < 100 {
			runtime.Gosched()
		}
		os.Exit(7)
	default:
		return fmt.Errorf("%q is no hazard", what)
	}
	return nil
}

//go:noinline
func overflow(n int) int { return overflow(n+1) + n }

func threads(n int) {
	var all, done sync.WaitGroup
	all.Add(n)
	done.Add(n)
	for range n {
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			all.Done()
			all.Wait() // for n threads at once
			step()
		}()
	}
	done.Wait()
}

func signals(sent, steps int) error {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGWINCH)
	go func() {
		for range c {
		}
	}()
	done := make(chan error)
	go func() {
		for i := range sent {
			s := []syscall.Signal{syscall.SIGUSR1, syscall.SIGURG, syscall.SIGWINCH}[i%3]
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range steps {
		step()
	}
	return <-done
}

func vfork(n int) error {
	stop := make(chan bool)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					busy()
				}
			}
		})
	}
	defer wg.Wait()
	defer close(stop)
	for range n {
		if err := exec.Command("true").Run(); err != nil {
			return err
		}
		step()
	}
	return nil
}

//go:noinline
func busy() { runtime.Gosched() }

func trap() error {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTRAP)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTRAP); err != nil {
		return err
	}
	step()
	return nil
}
