// Tracerag records one run of a Go program and tells a language model what ran:
// the question, the call tree, and the source of the called functions in the
// order in which they were called.
//
//	tracerag run -- ./app --csv data.csv
//	tracerag ask "which function draws the border?"
//	tracerag compare @prev @last
//
// Each subcommand is one file. Exit codes are those of codes.go.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"tracerag/memory"
)

func main() {
	memory.StartHeap()
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its inputs and outputs named: the command line without the
// program's name in, the exit code out.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a, err := newApp(stdin, stdout, stderr)
	if err != nil {
		code := a.fail(fmt.Errorf("the working directory was not found: %w\nchange to one that exists", err))
		if len(args) > 0 && args[0] == "run" {
			return exitRunFailed // 1 would be the program's
		}
		return code
	}
	defer a.flush()
	return a.dispatch(ctx, args)
}
