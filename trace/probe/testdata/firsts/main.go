//go:build linux && amd64

// Firsts has threads run the blocks of a long function for the first time at the same
// moment, one block after the other: all of them wait for one another before each. It
// prints a sum of what they computed, and ends when its standard input does. With
// an argument it then writes a CPU profile of itself to that file, for a while.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const threads, cases = 4, 64

var used uint64

func main() {
	if err := do(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "firsts:", err)
		os.Exit(1)
	}
}

func do(args []string) error {
	fmt.Println(together())
	if len(args) > 0 {
		f, err := os.Create(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		// Samples are taken by processor time, of which there may be little.
		for end := processorTime() + 300*time.Millisecond; processorTime() < end; {
			for op := range 100_000 {
				used += mix(op%cases, used, 1)
			}
		}
		pprof.StopCPUProfile()
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// together runs all cases, each on all threads at once.
func together() uint64 {
	var there atomic.Int64
	var sum atomic.Uint64
	var wg sync.WaitGroup
	for i := range uint64(threads) {
		wg.Go(func() {
			runtime.LockOSThread()
			for op := range cases {
				for there.Add(1); there.Load() < int64(threads*(op+1)); {
					runtime.Gosched()
				}
				a := i
				for range 50 {
					a = mix(op, a, uint64(op))
				}
				sum.Add(a)
			}
		})
	}
	wg.Wait()
	return sum.Load()
}

//go:noinline
func turn(a uint64) uint64 { return a<<7 | a>>57 }

// mix has a block or more for each case, of different lengths, so that they lie
// otherwise.
func mix(op int, a, b uint64) uint64 {
	switch op {
	case 0:
		a = a*3 + b
	case 1:
		a ^= b << 2
		if a&2 != 0 {
			a += 33
		}
	case 2:
		b -= a >> 3
		a += b * 63
	case 3:
		if a > b*93 {
			a -= b
		} else {
			a = a<<3 ^ 6369703083
		}
	case 4:
		a = a*123 + turn(b)
	case 5:
		a ^= b << 6
		if a&1 != 0 {
			a += 153
		}
	case 6:
		b -= a >> 7
		a += b * 183
	case 7:
		if a > b*213 {
			a -= b
		} else {
			a = a<<3 ^ 76526024643
		}
	case 8:
		a = a*243 + b
	case 9:
		a ^= b << 3
		if a&16 != 0 {
			a += 273
		}
	case 10:
		b -= a >> 2
		a += b * 303
	case 11:
		if a > b*333 {
			a -= b
		} else {
			a = a<<3 ^ 292417287003
		}
	case 12:
		a = a*363 + turn(b)
	case 13:
		a ^= b << 7
		if a&8 != 0 {
			a += 393
		}
	case 14:
		b -= a >> 6
		a += b * 423
	case 15:
		if a > b*453 {
			a -= b
		} else {
			a = a<<3 ^ 736147682163
		}
	case 16:
		a = a*483 + b
	case 17:
		a ^= b << 4
		if a&4 != 0 {
			a += 513
		}
	case 18:
		b -= a >> 1
		a += b * 543
	case 19:
		if a > b*573 {
			a -= b
		} else {
			a = a<<3 ^ 1489821402123
		}
	case 20:
		a = a*603 + turn(b)
	case 21:
		a ^= b << 1
		if a&2 != 0 {
			a += 633
		}
	case 22:
		b -= a >> 5
		a += b * 663
	case 23:
		if a > b*693 {
			a -= b
		} else {
			a = a<<3 ^ 2635542638883
		}
	case 24:
		a = a*723 + b
	case 25:
		a ^= b << 5
		if a&1 != 0 {
			a += 753
		}
	case 26:
		b -= a >> 9
		a += b * 783
	case 27:
		if a > b*813 {
			a -= b
		} else {
			a = a<<3 ^ 4255415584443
		}
	case 28:
		a = a*843 + turn(b)
	case 29:
		a ^= b << 2
		if a&16 != 0 {
			a += 873
		}
	case 30:
		b -= a >> 4
		a += b * 903
	case 31:
		if a > b*933 {
			a -= b
		} else {
			a = a<<3 ^ 6431544430803
		}
	case 32:
		a = a*963 + b
	case 33:
		a ^= b << 6
		if a&8 != 0 {
			a += 993
		}
	case 34:
		b -= a >> 8
		a += b * 26
	case 35:
		if a > b*56 {
			a -= b
		} else {
			a = a<<3 ^ 1390703104
		}
	case 36:
		a = a*86 + turn(b)
	case 37:
		a ^= b << 3
		if a&4 != 0 {
			a += 116
		}
	case 38:
		b -= a >> 3
		a += b * 146
	case 39:
		if a > b*176 {
			a -= b
		} else {
			a = a<<3 ^ 43172614144
		}
	case 40:
		a = a*206 + b
	case 41:
		a ^= b << 7
		if a&2 != 0 {
			a += 236
		}
	case 42:
		b -= a >> 7
		a += b * 266
	case 43:
		if a > b*296 {
			a -= b
		} else {
			a = a<<3 ^ 205374006784
		}
	case 44:
		a = a*326 + turn(b)
	case 45:
		a ^= b << 4
		if a&1 != 0 {
			a += 356
		}
	case 46:
		b -= a >> 2
		a += b * 386
	case 47:
		if a > b*416 {
			a -= b
		} else {
			a = a<<3 ^ 570099073024
		}
	case 48:
		a = a*446 + b
	case 49:
		a ^= b << 1
		if a&16 != 0 {
			a += 476
		}
	case 50:
		b -= a >> 6
		a += b * 506
	case 51:
		if a > b*536 {
			a -= b
		} else {
			a = a<<3 ^ 1219452004864
		}
	case 52:
		a = a*566 + turn(b)
	case 53:
		a ^= b << 5
		if a&8 != 0 {
			a += 596
		}
	case 54:
		b -= a >> 1
		a += b * 626
	case 55:
		if a > b*656 {
			a -= b
		} else {
			a = a<<3 ^ 2235536994304
		}
	case 56:
		a = a*686 + b
	case 57:
		a ^= b << 2
		if a&4 != 0 {
			a += 716
		}
	case 58:
		b -= a >> 5
		a += b * 746
	case 59:
		if a > b*776 {
			a -= b
		} else {
			a = a<<3 ^ 3700458233344
		}
	case 60:
		a = a*806 + turn(b)
	case 61:
		a ^= b << 6
		if a&2 != 0 {
			a += 836
		}
	case 62:
		b -= a >> 9
		a += b * 866
	case 63:
		if a > b*896 {
			a -= b
		} else {
			a = a<<3 ^ 5696319913984
		}
	}
	return a ^ a>>11
}
