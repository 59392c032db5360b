// Command signals counts the signals that it gets until its input ends. It adds a line with
// its process group to the file "groups". With the argument "quick" it does only that, and counts one, and
// with "wait" it leaves the signals to do what they do; so it does with "sleep", without input.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	f, err := os.OpenFile("groups", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, syscall.Getpgrp())
	f.Close()
	var total atomic.Int64
	if len(os.Args) > 1 && os.Args[1] != "wait" {
		switch os.Args[1] {
		case "quick":
			count(os.Interrupt, &total)
		case "sleep":
			count(os.Interrupt, &total)
			fmt.Println("ready")
			time.Sleep(time.Minute)
		}
		return
	}
	if len(os.Args) == 1 {
		sigs := make(chan os.Signal, 100)
		signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
		go func() {
			for s := range sigs {
				fmt.Println(count(s, &total))
			}
		}()
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
	}
	fmt.Println("total", total.Load())
}

//go:noinline
func count(s os.Signal, total *atomic.Int64) os.Signal {
	total.Add(1)
	return s
}
