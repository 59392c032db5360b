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

// Single functions are read with line numbers and without what did not run, and with
// the types that they name.
func ExampleReader() {
	b := trace.NewBuilder(&trace.Trace{})
	draw := trace.Function{Name: "table.Draw", File: "table/draw.go"}
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{{Func: b.Func(draw)}}, 1)
	tree, err := calltree.Build(b.Finish(), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := prompt.NewReader(prompt.Input{
		Runs: []prompt.Run{{Tree: tree}},
		Source: func(f trace.Function) source.Text {
			return source.Text{
				Display: f.File, Start: 8, End: 14, DocStart: 8, Signature: "func Draw(t *Table)",
				Body: "func Draw(t *Table) {\n\tif t.empty() {\n\t\tt.apologise(\"there are no rows to draw\")\n\t\treturn\n\t}\n\tt.border()\n}",
			}
		},
		Lines: func(trace.Function) []trace.Lines { return []trace.Lines{{First: 8, States: "rrnn.rr"}} },
		Named: func(trace.Function, source.Text) []source.Decl {
			return []source.Decl{{Keyword: "type", Package: "table", Names: []string{"Table"}, Display: "table/table.go", Start: 3, End: 3, Body: "type Table struct{ rows [][]string }"}}
		},
	}, prompt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(r.Index(100)) // of at most so many tokens
	request, _ := prompt.ParseRequest("table.Draw")
	read := r.Read([]prompt.Request{request}, 500)
	fmt.Print(read.Sources[0].Text, read.Types[0].Text)
	// Output:
	// table: Draw
	// ### table.Draw  table/draw.go:8-14
	// ```go
	// 8 func Draw(t *Table) {
	// 	if t.empty() {
	// [lines 10-11 left out: did not run]
	// 12 	}
	// 	t.border()
	// }
	// ```
	//
	// ### type table.Table  table/table.go:3-3
	// ```go
	// 3 type Table struct{ rows [][]string }
	// ```
}
