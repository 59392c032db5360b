package record_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"tracerag/record"
	"tracerag/trace"
	"tracerag/trace/store"
)

// A Runner records a program as a Spec says, and saves the trace. The recursive calls
// of fib are counted at a node of their own.
func Example() {
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	app := filepath.Join(dir, "fib")
	build := exec.Command("go", "build", "-gcflags=-l", "-o", app, "./fib")
	build.Dir = filepath.FromSlash("../fixtures/programs")
	if out, err := build.CombinedOutput(); err != nil {
		log.Fatalf("%v\n%s", err, out)
	}

	traces := filepath.Join(dir, "traces")
	output, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer output.Close()
	r := &record.Runner{
		Spec:   record.Spec{Command: []string{app, "-n=10"}, Dir: dir, Store: traces},
		Store:  store.Open(traces),
		Output: output,
	}
	rec, err := r.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for id, n := range rec.Trace.Nodes {
		fmt.Println(rec.Trace.Func(trace.NodeID(id)).Name, n.Calls)
	}
	// Output:
	// main.main 1
	// main.fib 1
	// main.fib 176
}
