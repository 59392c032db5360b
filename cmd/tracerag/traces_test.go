package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/trace/symbol"
)

// Most scripts need no recording. They work on traces of testdata/program that
// are made by hand below, with a mark of every kind. A trace of this kind is the
// same in every place: its files are named as -trimpath names them, and its
// directory is that of the command, where the scripts have the program's sources.

// handMade are the runs that the script command "trace" saves, by name.
var handMade = map[string]struct {
	args  []string
	calls func(*writer)
}{
	"version": {[]string{"--version"}, func(w *writer) {
		w.start()
		w.call(1, "main.main", "main.version")
	}},
	"csv": {[]string{"--csv", "data.csv"}, func(w *writer) {
		w.start()
		w.call(1, "main.main", "main.show")
		w.spin()
		w.drawTable()
	}},
	// The same run, but with a longer table.
	"long": {[]string{"--csv", "long.csv"}, func(w *writer) {
		w.start()
		w.call(1, "main.main", "main.show")
		w.spin()
		w.drawTable()
		w.call(6, "main.main", "main.show", "table.(*Table).Draw", "table.row")
	}},
	"md": {[]string{"--md", "doc.md"}, func(w *writer) {
		w.start()
		w.call(1, "main.main", "main.show")
		w.spin()
		w.call(1, "main.main", "main.show", "markdown.Render")
		w.call(1, "main.main", "main.show", "markdown.Render", "markdown.plain inlined")
	}},
	// A run of which nothing was recorded.
	"empty": {nil, func(*writer) {}},
}

// start is what every run does.
func (w *writer) start() {
	w.root = trace.Root{Kind: trace.RootInit}
	w.call(1, "main.init")
	w.call(1, "main.init", "main.palette")
	w.root = trace.Root{Kind: trace.RootMain}
	w.call(1, "main.main")
	w.call(1, "main.main", "main.parseFlags")
	w.call(1, "main.main", "main.parseFlags", "main.readFlag")
}

func (w *writer) spin() {
	main := w.root
	w.root = trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{
		Func: "main.show", File: "example.com/app/main.go", Line: w.line("main.go", "go spin"), Creator: w.last.Ref(),
	}}
	w.call(1, "main.spin")
	w.root = main
	w.tr.Goroutines++
}

func (w *writer) drawTable() {
	w.call(1, "main.main", "main.show", "table.Read")
	w.call(1, "main.main", "main.show", "table.Read", "table.split")
	w.call(3, "main.main", "main.show", "table.Read", "table.split", "table.split")
	w.call(1, "main.main", "main.show", "table.(*Table).Draw")
	w.call(2, "main.main", "main.show", "table.(*Table).Draw", "table.border")
	w.mark(trace.Approximate, w.call(4, "main.main", "main.show", "table.(*Table).Draw", "table.compare via inlined"))
	w.call(3, "main.main", "main.show", "table.(*Table).Draw", "table.row")
	w.mark(trace.Floor, w.call(200, "main.main", "main.show", "table.(*Table).Draw", "table.row", "table.pad"))
	w.tr.Losses = []trace.Loss{{Kind: trace.LossFloor, Function: table + "pad", Count: 200}}
}

const table, markdown = "example.com/app/internal/table.", "example.com/app/internal/markdown."

// functions are those of testdata/program by their short names: the linker's
// name, the file, and how the line begins that declares it.
var functions = map[string]struct{ name, file, decl string }{
	"main.init":           {"main.init", "main.go", "var colors"},
	"main.palette":        {"main.palette", "main.go", "func palette"},
	"main.main":           {"main.main", "main.go", "func main"},
	"main.parseFlags":     {"main.parseFlags", "main.go", "func parseFlags"},
	"main.readFlag":       {"main.readFlag", "main.go", "func readFlag"},
	"main.version":        {"main.version", "main.go", "func version"},
	"main.show":           {"main.show", "main.go", "func show"},
	"main.spin":           {"main.spin", "main.go", "func spin"},
	"table.Read":          {table + "Read", "internal/table/table.go", "func Read"},
	"table.split":         {table + "split", "internal/table/table.go", "func split"},
	"table.(*Table).Draw": {table + "(*Table).Draw", "internal/table/table.go", "func (t *Table) Draw"},
	"table.compare":       {table + "compare", "internal/table/table.go", "func compare"},
	"table.border":        {table + "border", "internal/table/table.go", "func border"},
	"table.row":           {table + "row", "internal/table/table.go", "func row"},
	"table.pad":           {table + "pad", "internal/table/table.go", "func pad"},
	"markdown.Render":     {markdown + "Render", "internal/markdown/markdown.go", "func Render"},
	"markdown.plain":      {markdown + "plain", "internal/markdown/markdown.go", "func plain"},
}

// writer makes a trace of testdata/program.
type writer struct {
	tr    *trace.Trace
	b     *trace.Builder
	root  trace.Root
	last  trace.NodeID
	marks map[trace.NodeID]trace.Flags // those that the builder does not know
}

// makeTrace returns a trace of handMade; built is the time of the program's
// file.
func makeTrace(name string, built time.Time) (*trace.Trace, error) {
	made, ok := handMade[name]
	if !ok {
		return nil, fmt.Errorf("no hand-made trace %q", name)
	}
	w := &writer{marks: map[trace.NodeID]trace.Flags{}, tr: &trace.Trace{
		Recorder: "breakpoint", Command: append([]string{"./app"}, made.args...), Dir: ".",
		Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 40 * time.Millisecond, Goroutines: 1,
		Program: trace.Program{Path: "/src/app/app", BuildID: "build-1", ModTime: built, GoVersion: "go1.26.0", GOOS: "linux", GOARCH: "amd64",
			MainPath: "example.com/app", Main: trace.Module{Path: "example.com/app", Version: "(devel)"}},
	}}
	w.b = trace.NewBuilder(w.tr)
	made.calls(w)
	w.b.Finish()
	for id, m := range w.marks {
		w.tr.Nodes[id].Flags |= m
	}
	return w.tr, w.tr.Check()
}

// group NAME saves a hand-made run that started processes, two of which are of a helper
// whose source is in helper/main.go, and sets the variables NAME, one and two to the ids of
// the run and of these.
func cmdGroup(ts *testscript.TestScript, _ bool, args []string) {
	s := store.Open(ts.MkAbs(".tracerag"))
	process := func(name string, functions ...string) store.Entry {
		tr := &trace.Trace{Recorder: "probe", Command: []string{"helper", name}, Dir: ".", Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Goroutines: 1,
			Program: trace.Program{Path: "/src/app/helper/helper", GoVersion: "go1.26.0", GOOS: "linux", GOARCH: "amd64",
				MainPath: "example.com/app/helper", Main: trace.Module{Path: "example.com/app", Version: "(devel)"}}}
		b := trace.NewBuilder(tr)
		stack := []trace.Frame{}
		for i, f := range functions {
			stack = append(stack, trace.Frame{Func: b.Func(trace.Function{Name: "main." + f, Package: "example.com/app/helper", File: "example.com/app/helper/main.go", StartLine: 3 + 2*i})})
			b.Call(trace.Root{Kind: trace.RootMain}, stack, 1)
		}
		e, err := s.Processes().Save(b.Finish())
		ts.Check(err)
		ts.Setenv(name, e.ID)
		return e
	}
	one, two := process("one", "main", "work"), process("two", "main", "work", "fail")
	tr, err := makeTrace("md", time.Time{})
	ts.Check(err)
	caller := trace.NodeRef(0)
	for i := range tr.Nodes {
		if tr.Func(trace.NodeID(i)).Name == "main.show" {
			caller = trace.NodeID(i).Ref()
		}
	}
	started := func(p trace.Process, args ...string) {
		p.Command, p.Caller, p.Before = append([]string{filepath.Base(p.Program)}, args...), caller, int(caller)
		tr.Processes = append(tr.Processes, p)
	}
	for _, script := range []string{"helper one", "helper two"} {
		started(trace.Process{Program: "/bin/sh", Why: "no Go program"}, "-c", script)
	}
	started(trace.Process{Parent: 1, Program: "/src/app/helper/helper", Trace: one.ID, Calls: 2}, "one", "--password=tr0ub4dor-and-3")
	started(trace.Process{Parent: 2, Program: "/src/app/helper/helper", Trace: two.ID, Calls: 3}, "two")
	e, err := s.Save(tr)
	ts.Check(err)
	ts.Setenv(args[0], e.ID)
}

// call records n calls of the last function of a stack of functions, each with
// "inlined" and "via" behind its name when it is.
func (w *writer) call(n int64, stack ...string) trace.NodeID {
	var frames []trace.Frame
	for _, s := range stack {
		word := strings.Fields(s)
		f, ok := functions[word[0]]
		if !ok {
			panic("testdata/program has no " + word[0])
		}
		pkg := symbol.Package(f.name)
		if pkg == "main" {
			pkg = "example.com/app"
		}
		frames = append(frames, trace.Frame{
			Func:    w.b.Func(trace.Function{Name: f.name, Package: pkg, File: "example.com/app/" + f.file, StartLine: w.line(f.file, f.decl)}),
			Inlined: strings.Contains(s, " inlined"), Via: strings.Contains(s, " via"),
		})
	}
	w.last = w.b.Call(w.root, frames, n)
	return w.last
}

func (w *writer) mark(m trace.Flags, id trace.NodeID) { w.marks[id] = m }

// line is the number of the line of a source file that begins so.
func (w *writer) line(file, begin string) int {
	data, err := os.ReadFile(filepath.Join("testdata", "program", filepath.FromSlash(file)))
	if err != nil {
		panic(err)
	}
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), begin) {
			return i + 1
		}
	}
	panic(file + " has no line that begins with " + begin)
}
