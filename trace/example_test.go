package trace_test

import (
	"bytes"
	"fmt"
	"log"

	"tracerag/trace"
)

// A recorder reports calls to a Builder. The trace is written, and read again.
func Example() {
	b := trace.NewBuilder(&trace.Trace{Command: []string{"./app"}})
	start := trace.Frame{Func: b.Func(trace.Function{Name: "main.main", Package: "example.com/app"})}
	draw := trace.Frame{Func: b.Func(trace.Function{Name: "main.draw", Package: "example.com/app"}), CallLine: 7}
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start}, 1)
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start, draw}, 3)

	var file bytes.Buffer // a gzip-compressed pprof profile
	if err := b.Finish().Write(&file); err != nil {
		log.Fatal(err)
	}
	tr, err := trace.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	for id, n := range tr.Nodes {
		fmt.Println(tr.Func(trace.NodeID(id)).Name, n.Calls)
	}
	// Output:
	// main.main 1
	// main.draw 3
}
