//go:build linux && amd64

// Hazards does one thing, named by its argument, that could go wrong when the
// program's code has been changed and memory been added:
//
//	deep        a recursion of a million calls
//	goroutines  100,000 goroutines that are all there at once
//	storm       signals without end, while it calls
//	profiled    a CPU profile and an execution trace of itself, while it calls
//	mapped      memory of its own, wherever it can get it near its code
//	chain       programs that start programs, four deep, each itself
//	nils        nil pointers dereferenced in functions of all kinds, and recovered
//	crash KIND  ends by a panic, a fault or a signal, see crashes
//	overflow    a recursion without end
//	plain       calls, and nothing else
//
// It prints what it did and how often step was called.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var total atomic.Int64

//go:noinline
func step() { total.Add(1) }

func main() {
	if err := do(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "hazards:", err)
		os.Exit(1)
	}
	fmt.Println(os.Args[1], total.Load())
}

func do(what string, args []string) error {
	switch what {
	case "deep":
		fmt.Println(deep(1_000_000))
	case "goroutines":
		goroutines(100_000)
	case "storm":
		return storm()
	case "profiled":
		return profiled()
	case "mapped":
		return mapped()
	case "chain":
		return chain(args)
	case "nils":
		nils()
	case "crash":
		step()
		crashes[args[0]]()
	case "overflow":
		step()
		debug.SetMaxStack(8 << 20)
		fmt.Println(overflow(1))
	case "plain":
		for range 1000 {
			step()
		}
	default:
		return fmt.Errorf("%q is no hazard", what)
	}
	return nil
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		step()
		return 0
	}
	return deep(n-1) + 1
}

//go:noinline
func overflow(n int) int { return overflow(n+1) + n }

func goroutines(n int) {
	var there, gone sync.WaitGroup
	release := make(chan bool)
	there.Add(n)
	for range n {
		gone.Go(func() {
			step()
			there.Done()
			<-release
		})
	}
	there.Wait()
	close(release)
	gone.Wait()
}

// steps calls step from four goroutines, in all so often.
func steps(n int) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				step()
			}
		})
	}
	wg.Wait()
}

// storm has signals with a handler, without one, from a timer of the CPU time,
// and the runtime's own.
func storm() error {
	c := make(chan os.Signal, 64)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGVTALRM, syscall.SIGPROF)
	go func() {
		for range c {
		}
	}()
	for which := range 3 { // real time's signal ends a program, so it is ignored
		if which == 0 {
			signal.Ignore(syscall.SIGALRM)
		}
		timer := struct{ Interval, Value syscall.Timeval }{syscall.Timeval{Usec: 200}, syscall.Timeval{Usec: 200}}
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETITIMER, uintptr(which), uintptr(unsafe.Pointer(&timer)), 0); e != 0 {
			return e
		}
	}
	stop := make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGURG, syscall.SIGWINCH} {
					if err := syscall.Kill(os.Getpid(), s); err != nil {
						panic(err)
					}
				}
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	steps(4_000_000)
	close(stop)
	wg.Wait()
	return nil
}

func profiled() error {
	runtime.SetCPUProfileRate(2000)
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		return err
	}
	if err := trace.Start(io.Discard); err != nil {
		return err
	}
	steps(4_000_000)
	runtime.GC()
	trace.Stop()
	pprof.StopCPUProfile()
	return nil
}

// mapped asks for memory at addresses around its code and checks that what it is
// given is its own.
func mapped() error {
	text := **(**uintptr)(unsafe.Pointer(&[]func(){step}[0])) &^ 0xfffff
	const size = 1 << 16
	var all []uintptr
	for _, flags := range []uintptr{0, 0x100000} { // MAP_FIXED_NOREPLACE
		for d := -64; d <= 64; d++ {
			hint := text + uintptr(d)<<20
			if hint < 1<<20 || hint > 1<<47 {
				continue
			}
			addr, _, e := syscall.RawSyscall6(syscall.SYS_MMAP, hint, size, syscall.PROT_READ|syscall.PROT_WRITE,
				syscall.MAP_PRIVATE|syscall.MAP_ANON|flags, ^uintptr(0), 0)
			if e == 0 {
				all = append(all, addr)
			}
			step()
		}
	}
	for i, addr := range all {
		mem := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), size)
		for _, b := range mem {
			if b != 0 {
				return fmt.Errorf("mapping %d at %#x is not empty", i, addr)
			}
		}
		for j := range mem {
			mem[j] = 0xcc
		}
		step()
	}
	total.Store(int64(min(len(all), 100))) // how many hints are taken is the kernel's business
	return nil
}

func chain(args []string) error {
	depth := 4
	if len(args) > 0 {
		depth, _ = strconv.Atoi(args[0])
	}
	step()
	if depth == 0 {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "chain", strconv.Itoa(depth-1))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
