package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends with the first Ctrl-C, SIGTERM or SIGHUP: what was paid for is kept, and
// copies are removed. The second one ends the program. Under nohup SIGHUP stays ignored.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// bugReport returns a report as it was given on the command line, "-" for standard input, and has the
// masker learn its secrets.
func (a *app) bugReport(arg string) (string, error) {
	if arg == "-" {
		data, err := readGiven(a.stdin)
		if err != nil {
			return "", fmt.Errorf("reading the report: %w", err)
		}
		arg = string(data)
	}
	// Learning all of a log of megabytes takes a minute. Quoted parts are masked on their own, too.
	const most = 256 << 10
	a.masker().LearnText(arg[:min(len(arg), most)])
	if rest := len(arg) - most; rest > 0 {
		a.masker().LearnText(arg[max(most, rest):])
	}
	return arg, nil
}

// mostGiven bounds a report and a change. A model's question holds far less.
const mostGiven = 32 << 20

// readGiven reads what was given to its end, unless that is too far.
func readGiven(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, mostGiven+1))
	if err == nil && len(data) > mostGiven {
		err = fmt.Errorf("it is larger than %d MiB: give the part that matters", mostGiven>>20)
	}
	return data, err
}
