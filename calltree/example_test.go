package calltree_test

import (
	"log"
	"os"

	"tracerag/calltree"
	"tracerag/trace"
)

// record represents a recorder.
func record(functions ...string) *trace.Trace {
	b := trace.NewBuilder(&trace.Trace{})
	start := trace.Frame{Func: b.Func(trace.Function{Name: "main.main"})}
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start}, 1)
	for _, name := range functions {
		b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start, {Func: b.Func(trace.Function{Name: name})}}, 2)
	}
	return b.Finish()
}

// A trace becomes a tree, less what the baseline called, too.
func Example() {
	tree, err := calltree.Build(record("main.setUp", "table.Draw"), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	baseline, err := calltree.Build(record("main.setUp"), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	tree.Prune(baseline)
	if err := tree.WriteText(os.Stdout, calltree.View{Counts: true}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// main.main
	//   table.Draw x2
}

// Compare finds where two runs diverge.
func ExampleCompare() {
	a, err := calltree.Build(record("table.Draw", "table.border"), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := calltree.Build(record("table.Draw"), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := calltree.Compare(a, b).WriteText(os.Stdout, calltree.View{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 removed, 2 unchanged
	// first divergence:
	//   a: main.main > table.border
	//   b: main.main, which calls nothing more
	//
	// main.main
	// - table.border
}
