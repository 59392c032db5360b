// Counting computes the same thing again and again, in several goroutines, in ways that
// a recorder changes: calls of every kind, deep stacks that grow, inlined bodies,
// goroutines that come and go, timers and the garbage collector. After each round it
// says "right" if every result and every count of its own is, else what is wrong and
// ends. It ends with its input.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type shape interface{ area(n int) int }

type square struct{ calls *atomic.Int64 }
type strip struct{ calls *atomic.Int64 }

//go:noinline
func (s square) area(n int) int { s.calls.Add(1); return n * n }

//go:noinline
func (s strip) area(n int) int { s.calls.Add(1); return twice(n) }

func twice(n int) int { return n + n } // inlined

//go:noinline
func leaf(n int) int { return n*3 + 1<<40 }

//go:noinline
func down(n int, calls *int) int {
	*calls++
	if n == 0 {
		return 0
	}
	var room [64]int
	room[n%64] = n
	return room[n%64] + down(n-1, calls)
}

//go:noinline
func fails(n int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("recovered %v", v)
		}
	}()
	var none []int
	return fmt.Errorf("%d", none[n])
}

// work returns what it computed, which is always the same.
func work() (sum int) {
	var shapes atomic.Int64
	calls := 0
	for i, s := range []shape{square{&shapes}, strip{&shapes}, square{&shapes}} {
		for n := range 50 {
			sum += s.area(n+i) - leaf(n)>>41
		}
	}
	sum += down(200, &calls) + len(fails(7).Error())
	add := func(n int) int { return sum - sum + leaf(n)&0xffff }
	for n := range 100 {
		sum += add(n)
	}
	if shapes.Load() != 150 || calls != 201 {
		return -1
	}
	return sum
}

// spin is a loop that only a signal interrupts.
//
//go:noinline
func spin(n int) (x int) {
	for i := range n {
		x += i & 1
	}
	return x
}

func main() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	want := work()
	for {
		var wg sync.WaitGroup
		wrong := make(chan int, 8)
		for range 4 {
			wg.Go(func() {
				for range 20 {
					if got := work(); got != want {
						wrong <- got
						return
					}
				}
				if spin(200_000) != 100_000 {
					wrong <- 0
				}
			})
		}
		wg.Wait()
		select {
		case got := <-wrong:
			fmt.Printf("wrong: %d, want %d\n", got, want)
			os.Exit(1)
		default:
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
		fmt.Println("right")
	}
}
