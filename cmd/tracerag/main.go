// Tracerag records one run of a Go program and tells a language model what ran:
// the question, the call tree, and the source of the called functions in the
// order in which they were called.
//
//	tracerag run -- ./app --csv data.csv
//	tracerag ask "which function draws the border?"
//	tracerag compare @prev @last
//
// This package has flags, printing and exit codes, and no logic. Packages below it do
// the work: record makes traces, session opens them, calltree, prompt, rank and export
// turn them into what is printed, llm asks models.
//
//   - A subcommand is one file, with a row in commands (app.go): it parses flags, calls
//     one package, and prints.
//   - Libraries return typed errors that know no flags. What the user can do about an
//     error is added in one place, wayout.go.
//   - All output goes through package output, which masks secrets.
//   - Exit codes are those of codes.go; help topics are files in topics.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"tracerag/memory"
	"tracerag/repair/sandbox"
	"tracerag/trace/rebuild"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == sandboxArg {
		os.Exit(sandbox.Inner())
	}
	if len(os.Args) > 1 && os.Args[1] == toolArg {
		os.Exit(rebuild.Tool(os.Args[2:]))
	}
	if len(os.Args) == 2 && os.Args[1] == keeperArg {
		os.Exit(keep())
	}
	memory.StartHeap()
	if len(os.Args) > 2 && os.Args[1] == testsArg {
		os.Exit(recordTests(os.Args[2:]))
	}
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
