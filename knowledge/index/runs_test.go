package index_test

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/trace"
	"tracerag/trace/store"
)

// TestExecuted turns linkers' names into declarations.
func TestExecuted(t *testing.T) {
	for linker, want := range map[string]string{
		"F": "F", "(*T).M": "(*T).M", "T.M": "T.M", "(*T[...]).M": "(*T).M", "T[go.shape.int].M": "T.M", "F[...]": "F", "F[...].func1": "F literal",
		"F.func1": "F literal", "F.func1.2": "F literal", "F.gowrap1": "F literal", "F.deferwrap2": "F literal", "F-range1": "F literal",
		"T.M.func1": "T.M literal", "(*T).M-fm": "(*T).M", "(*T).M.func2.1": "(*T).M literal", "init.0": "init", "init.0.func1": "init literal",
		"init": "", "glob..func1": "", "init.func1": "", "functional": "functional", "T.func": "T.func",
		"(*T[go.shape.[]int]).M": "(*T).M", `F[go.shape.struct { A int "x:\"]\"" }]`: "F", "(*T).func1": "(*T).func1", "map.init.0": "",
	} {
		tr := &trace.Trace{}
		b := trace.NewBuilder(tr)
		b.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: b.Func(trace.Function{Name: "example.com/p." + linker, Package: "example.com/p", File: "/src/p/a.go", StartLine: 3})}, 1)
		_, x := index.Executed(b.Finish())
		got := ""
		for _, f := range x.Functions {
			if got = f.Name; f.Calls == 0 {
				got += " literal"
			}
			if f.Package != "example.com/p" || f.Base != "a.go" || f.Nth != 1 {
				t.Errorf("%s: %+v", linker, f)
			}
		}
		if got != want {
			t.Errorf("%s is of %q, want %q", linker, got, want)
		}
	}
}

// recorded is a trace: main calls Greet, starts a goroutine with Say, and calls by way of functions that were not
// recorded; two functions init of one file ran.
func recorded(name string) *trace.Trace {
	tr := &trace.Trace{Name: name, Test: trace.Test{Package: "example.com/app", Name: name}, Command: []string{"go", "test", "-run", name}, Exit: trace.Exit{Code: 0},
		Program: trace.Program{Settings: []trace.Setting{{Key: "vcs.revision", Value: "c0ffee"}}}}
	b := trace.NewBuilder(tr)
	f := func(local string, line int) trace.FuncID {
		return b.Func(trace.Function{Name: "example.com/app." + local, Package: "example.com/app", File: "/build/app.go", StartLine: line})
	}
	b.Root(trace.Root{Kind: trace.RootInit}, trace.Frame{Func: f("init.3", 20)}, 1)
	b.Root(trace.Root{Kind: trace.RootInit}, trace.Frame{Func: f("init.4", 22)}, 1)
	main := b.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: f("init.4", 22)}, 1)
	lit := b.Child(main, trace.Frame{Func: f("init.4.func1", 22)}, 2)
	b.Child(lit, trace.Frame{Func: f("Greet", 6)}, 5)
	b.Child(main, trace.Frame{Func: f("Greet", 6), Via: true}, 7)
	b.Root(trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Func: "example.com/app.Greet", Creator: main.Ref()}}, trace.Frame{Func: f("(*Speaker).Say", 11)}, 1)
	return b.Finish()
}

// TestRuns takes the saved traces of a directory in. They stay right when the code moves, and go when the
// trace is removed.
func TestRuns(t *testing.T) {
	r := newRepo(t)
	r.write("app.go", first)
	traces := store.Open(t.TempDir())
	one, err := traces.Save(recorded("TestOne"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := traces.Save(recorded("TestTwo")); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	o := index.Options{Traces: []string{traces.Dir()}}
	if got := update(t, s, r.dir, o); got.Runs != 2 || len(got.Gaps) > 0 {
		t.Fatalf("runs: %+v", got)
	}
	edges := func() string {
		t.Helper()
		d, err := s.Named(t.Context(), []string{"Greet", "init", "Say"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		name := map[int64]string{}
		var ids []int64
		for _, d := range d {
			name[d.ID], ids = d.Symbol(), append(ids, d.ID)
		}
		list, err := s.Callees(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range list {
			if e.Kind == knowledge.Ran && e.Trace == one.ID {
				out = append(out, fmt.Sprintf("%s %s %d", name[e.Caller], name[e.Callee], e.Count))
			}
		}
		return strings.Join(out, ", ")
	}
	// Calls by way of others are none; those of a literal are its declaration's.
	const want = "init#2 Greet 5, init#2 (*Speaker).Say 1"
	if got := edges(); got != want {
		t.Errorf("calls that ran: %s, want %s", got, want)
	}
	r.write("app.go", strings.Replace(first, "import \"fmt\"", "import \"fmt\"\n\n// More.\nfunc More() {}\n", 1))
	update(t, s, r.dir, o)
	if got := edges(); got != want {
		t.Errorf("calls that ran, after the code moved: %s, want %s", got, want)
	}
	sameAsFresh(t, s, r.dir, o)
	greet, _ := s.Named(t.Context(), []string{"Greet"}, nil)
	runs, err := s.Runs(t.Context(), []int64{greet[0].ID})
	if err != nil || len(runs) != 2 || runs[0].Test != "TestOne" || runs[0].Snapshot != "c0ffee" || !runs[0].Passed || runs[0].Repository == 0 {
		t.Errorf("runs of Greet: %+v, %v", runs, err)
	}
	if err := traces.Remove(one); err != nil {
		t.Fatal(err)
	}
	update(t, s, r.dir, o)
	if got := edges(); got != "" {
		t.Errorf("calls of a removed trace: %s", got)
	}
	sameAsFresh(t, s, r.dir, o)
}

func FuzzExecuted(f *testing.F) {
	f.Add("example.com/p.(*T[...]).M.func1-fm")
	f.Add("init.")
	f.Fuzz(func(t *testing.T, name string) {
		_, x := index.Executed(&trace.Trace{Functions: []trace.Function{{Name: name}}, Nodes: []trace.Node{{Parent: trace.NoNode, Root: trace.RootMain}}})
		if len(x.Functions) > 1 {
			t.Errorf("%q is of %+v", name, x.Functions)
		}
	})
}
