package prompt_test

import (
	"fmt"
	"log"

	"tracerag/calltree"
	"tracerag/prompt"
	"tracerag/source"
	"tracerag/trace"
)

// A prompt is made of a question, a call tree, and the sources of its functions.
func Example() {
	b := trace.NewBuilder(&trace.Trace{})
	start := trace.Frame{Func: b.Func(trace.Function{Name: "main.main", File: "main.go"})}
	draw := trace.Frame{Func: b.Func(trace.Function{Name: "table.Draw", File: "table/draw.go"})}
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start}, 1)
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start, draw}, 3)
	tree, err := calltree.Build(b.Finish(), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	p, err := prompt.Build(prompt.Input{
		Question: "Who draws?",
		Runs:     []prompt.Run{{Title: "./app", Tree: tree}},
		Source: func(f trace.Function) source.Text {
			body := map[string]string{"main.main": "func main() { table.Draw() }", "table.Draw": "func Draw() { /* ... */ }"}[f.Name]
			return source.Text{Display: f.File, Start: 1, End: 1, DocStart: 1, Body: body}
		},
	}, prompt.Options{Variant: prompt.Full})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Text)
	fmt.Println(p.Total, "tokens")
	// Output:
	// ## Question
	//
	// Who draws?
	//
	// ## Call tree: `./app`
	//
	// ```text
	// main.main main.go
	//   table.Draw x3 table/draw.go
	// ```
	//
	// ## Sources
	//
	// ### main.main  main.go:1-1
	// ```go
	// func main() { table.Draw() }
	// ```
	//
	// ### table.Draw  table/draw.go:1-1
	// ```go
	// func Draw() { /* ... */ }
	// ```
	//
	// 87 tokens
}
