package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends with the first Ctrl-C, or SIGTERM: what was paid for is kept. The
// second one ends the program.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// bugReport returns a report as it was given on the command line, "-" for standard input, and has the
// masker learn its secrets.
func (a *app) bugReport(arg string) (string, error) {
	if arg == "-" {
		data, err := io.ReadAll(a.stdin)
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
