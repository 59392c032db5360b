package viewer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/prompt"
	"tracerag/session"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/viewer"
)

// program is what the traces here are of. Its text tries to break out of wherever
// it is put.
const program = `package main

import "sort"

// main draws.  </script><img src=x onerror=alert(1)>
func main() {
	t := read("a.csv") // <!-- <script>
	for range 3 {
		t.row(1)
	}
	sort.Slice(t.rows, func(i, j int) bool { return less(i, j) })
	go spin()
}

func read(name string) *table {
	if name == "" {
		return nil
	}
	return &table{}
}

type table struct{ rows []int }

func (t *table) row(n int) int {
	if n > 9 {
		return t.row(n / 10)
	}
	return border()
}

func border() int { return len(` + "`+--+\n+--+`" + `) }

func less(i, j int) bool { return i < j }

func spin() {}
`

// call is a node of a trace that is made by hand: the functions from the root,
// each with the line on which the one before calls it ("row:9").
type call struct {
	n     int64
	path  string
	marks trace.Flags
}

var drawing = []call{
	{1, "main", 0},
	{1, "main read:7", trace.Inlined},
	{3, "main (*table).row:9", 0},
	{4, "main (*table).row:9 (*table).row:26", 0},
	{3, "main (*table).row:9 border:28", 0},
	{7, "main main.func1:11", trace.Via},
	{7, "main main.func1:11 less:11", 0},
}

// fixture is a directory with the program, and runs of it.
type fixture struct {
	t   testing.TB
	dir string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t, t.TempDir()}
	for name, text := range map[string]string{"go.mod": "module example.com/draw\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// lineOf is where the program declares a function.
func (f *fixture) lineOf(decl string) int {
	f.t.Helper()
	at := strings.Index(program, decl)
	if at < 0 {
		f.t.Fatalf("the program has no %s", decl)
	}
	return 1 + strings.Count(program[:at], "\n")
}

func (f *fixture) trace(calls []call) *trace.Trace {
	f.t.Helper()
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./draw", "a.csv"}, Dir: f.dir, Goroutines: 1}
	tr.Program.Main = trace.Module{Path: "example.com/draw"}
	tr.Program.MainPath = "example.com/draw"
	b := trace.NewBuilder(tr)
	decls := map[string]string{"main": "func main()", "read": "func read", "(*table).row": "func (t *table) row", "border": "func border",
		"main.func1": "func(i, j int)", "less": "func less", "spin": "func spin"}
	for _, c := range calls {
		root := trace.Root{Kind: trace.RootMain}
		if strings.HasPrefix(c.path, "spin") {
			root = trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Func: "main.main", File: filepath.Join(f.dir, "main.go"), Line: f.lineOf("go spin")}}
		}
		var stack []trace.Frame
		for _, step := range strings.Fields(c.path) {
			name, line := step, 0
			if i := strings.LastIndexByte(step, ':'); i > 0 {
				name = step[:i]
				fmt.Sscan(step[i+1:], &line)
			}
			fn := b.Func(trace.Function{Name: "main." + name, Package: "example.com/draw", File: filepath.Join(f.dir, "main.go"), StartLine: f.lineOf(decls[name])})
			stack = append(stack, trace.Frame{Func: fn, CallLine: line})
		}
		last := &stack[len(stack)-1]
		last.Inlined, last.Via = c.marks.Has(trace.Inlined), c.marks.Has(trace.Via)
		b.Call(root, stack, c.n)
	}
	b.AttachGoroutines()
	tr = b.Finish()
	if err := tr.Check(); err != nil {
		f.t.Fatal(err)
	}
	return tr
}

func (f *fixture) run(tr *trace.Trace) *session.Run {
	f.t.Helper()
	tree, err := calltree.Build(tr, calltree.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	r := source.New(source.Config{Main: source.Module{Path: "example.com/draw"}, MainPackage: "example.com/draw", Dir: f.dir})
	return &session.Run{ID: "0a1b2c3d", Title: strings.Join(tr.Command, " "), Trace: tr, Tree: tree, Source: func(fn trace.Function) source.Text {
		return r.Find(source.Func{Name: fn.Name, Package: fn.Package, File: fn.File, StartLine: fn.StartLine})
	}}
}

// content is a page of one run or two.
func (f *fixture) content(traces ...*trace.Trace) viewer.Content {
	f.t.Helper()
	var c viewer.Content
	var in prompt.Input
	for _, tr := range traces {
		r := f.run(tr)
		c.Runs = append(c.Runs, r)
		in.Runs = append(in.Runs, prompt.Run{Title: r.Title, Tree: r.Tree})
	}
	in.Source = c.Runs[0].Source
	c.Question = func(d viewer.Draft) (*viewer.Question, error) {
		in := in
		in.Question = d.Question
		return &viewer.Question{Draft: d, Input: in, Options: prompt.Options{Variant: d.Variant, Budget: d.Budget}}, nil
	}
	return c
}

func (f *fixture) page(traces ...*trace.Trace) *viewer.Page {
	f.t.Helper()
	p, err := viewer.New(f.content(traces...))
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}
