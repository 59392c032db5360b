package trace_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tracerag/trace"
)

// made builds the trace of a program from its calls: "main.main>lib.F" is a call of lib.F
// by main.main.
func made(mainPath string, calls ...string) *trace.Trace {
	t := &trace.Trace{Recorder: "probe", Program: trace.Program{MainPath: mainPath, Path: "/bin/" + mainPath[strings.LastIndexByte(mainPath, '/')+1:], Main: trace.Module{Path: mainPath}}}
	b := trace.NewBuilder(t)
	for _, c := range calls {
		var stack []trace.Frame
		for name := range strings.SplitSeq(c, ">") {
			f := trace.Function{Name: name, Package: t.Program.PackageOf(name), File: "/src/" + mainPath + ".go", StartLine: 1}
			if strings.HasPrefix(name, "lib.") {
				f.File = "/src/lib.go"
			}
			stack = append(stack, trace.Frame{Func: b.Func(f)})
		}
		b.Call(trace.Root{Kind: trace.RootMain}, stack, 1)
	}
	return b.Finish()
}

// listed writes the nodes of a trace, a line each: number, function and what is above.
func listed(t *trace.Trace) string {
	var b strings.Builder
	for i := range t.Nodes {
		id := trace.NodeID(i)
		fmt.Fprintf(&b, "%d %s", i, t.Func(id).Name)
		if up := t.Above(id); up != trace.NoNode {
			fmt.Fprintf(&b, " <- %d", up)
		}
		if p := t.Nodes[i].Process; p != 0 {
			fmt.Fprintf(&b, " in %d", p)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func join(t *testing.T, root *trace.Trace, parts ...*trace.Trace) *trace.Trace {
	t.Helper()
	got, err := root.Join(parts)
	if err == nil {
		err = got.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The nodes of a process are where it was started, below the call that started it.
func TestJoin(t *testing.T) {
	root := made("example.com/app", "main.main", "main.main>main.run", "main.main>lib.F", "main.main>main.end")
	root.Processes = []trace.Process{
		{Program: "/bin/sh", Caller: 2, Before: 2, Why: "no Go program"},
		{Parent: 1, Program: "/bin/helper", Caller: 2, Before: 3, Trace: "11111111"},
		{Parent: 2, Program: "/bin/inner", Caller: 2, Before: 2, Trace: "22222222"},
	}
	helper := made("example.com/helper", "main.main", "main.main>lib.F", "main.main>lib.F>main.Map[main.T]")
	inner := made("example.com/inner.v2", "main.main")

	t.Run("whole", func(t *testing.T) {
		got := join(t, root, nil, helper, inner)
		want := `0 main.main
1 main.run <- 0
2 lib.F <- 0
3 example.com/helper.main <- 1 in 2
4 lib.F <- 3
5 example.com/inner%2ev2.main <- 4 in 3
6 example.com/helper.Map[example.com/helper.T] <- 4
7 main.end <- 0
`
		if l := listed(got); l != want {
			t.Errorf("joined:\n%swant\n%s", l, want)
		}
		if n := len(got.Functions); n != 7 {
			t.Errorf("%d functions, and lib.F is one of both programs", n)
		}
		if f := got.Func(5); f.Package != "example.com/inner.v2" {
			t.Errorf("the package of %s is %s", f.Name, f.Package)
		}
		var deps []string
		for _, m := range got.Program.Deps {
			deps = append(deps, m.Path)
		}
		if want := []string{"example.com/helper", "example.com/inner.v2"}; !slices.Equal(deps, want) {
			t.Errorf("modules %v, want %v", deps, want)
		}
		if err := got.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "joined") {
			t.Errorf("a joined trace is written: %v", err)
		}
	})
	// What a process started whose trace is gone is where that was started.
	t.Run("one is gone", func(t *testing.T) {
		got := join(t, root, nil, nil, inner)
		want := `0 main.main
1 main.run <- 0
2 lib.F <- 0
3 example.com/inner%2ev2.main <- 1 in 3
4 main.end <- 0
`
		if l := listed(got); l != want {
			t.Errorf("joined:\n%swant\n%s", l, want)
		}
	})
	t.Run("all are gone", func(t *testing.T) {
		got := join(t, root)
		if listed(got) != listed(root) {
			t.Errorf("joined:\n%s", listed(got))
		}
		if err := got.Write(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}

// A program that runs itself is one program: its functions are the same.
func TestJoinSameProgram(t *testing.T) {
	root := made("example.com/app", "main.main", "main.main>main.run")
	root.Processes = []trace.Process{{Program: "/bin/app", Caller: 2, Before: 2, Trace: "11111111"}}
	root.Lines = map[trace.FuncID]trace.Lines{0: {First: 10, States: "rnn"}, 1: {First: 20, States: "rn"}}
	root.Goroutines = 1
	child := made("example.com/app", "main.main", "main.main>main.run")
	child.Lines = map[trace.FuncID]trace.Lines{0: {First: 11, States: "rn?.n"}}
	child.Goroutines = 3
	got := join(t, root, child)
	if len(got.Functions) != 2 || got.Goroutines != 4 {
		t.Errorf("%d functions in %d goroutines", len(got.Functions), got.Goroutines)
	}
	want := map[trace.FuncID]trace.Lines{0: {First: 10, States: "rrn?.n"}, 1: {First: 20, States: "r?"}}
	if !reflect.DeepEqual(got.Lines, want) {
		t.Errorf("lines %v, want %v", got.Lines, want)
	}
	if !reflect.DeepEqual(root.Lines[0], trace.Lines{First: 10, States: "rnn"}) {
		t.Error("the run's own trace is changed")
	}
}

// Values, losses and creators follow their nodes.
func TestJoinCarries(t *testing.T) {
	root := made("example.com/app", "main.main", "main.main>main.run")
	root.Activations = []trace.Activation{{Node: 0}, {Node: 1}}
	root.Losses = []trace.Loss{{Kind: trace.LossOverflow, Count: 2, Nodes: 2}, {Kind: trace.LossNotHooked, Function: "lib.asm"}}
	root.Processes = []trace.Process{{Program: "/bin/helper", Caller: 1, Before: 1, Trace: "11111111"}, {Program: "/bin/helper", Caller: 1, Before: 1, Trace: "22222222"}}
	child := func() *trace.Trace {
		c := made("example.com/helper", "main.main")
		c.Nodes = append(c.Nodes, trace.Node{Parent: trace.NoNode, Root: trace.RootGoroutine, Calls: 1, Go: trace.GoStmt{Func: "main.main", Creator: 1}},
			trace.Node{Parent: trace.NoNode, Root: trace.RootGoroutine, Calls: 1, Go: trace.GoStmt{Func: "main.main"}})
		c.Activations = []trace.Activation{{Node: 1}}
		c.Losses = []trace.Loss{{Kind: trace.LossOverflow, Count: 3, Nodes: 1, Detail: "full"}, {Kind: trace.LossNotHooked, Function: "lib.asm"}, {Kind: trace.LossNotHooked, Function: "main.cold"}}
		return c
	}
	got := join(t, root, child(), child())
	want := `0 main.main
1 example.com/helper.main <- 0 in 1
2 example.com/helper.main <- 1 in 1
3 example.com/helper.main <- 0 in 1
4 example.com/helper.main <- 0 in 2
5 example.com/helper.main <- 4 in 2
6 example.com/helper.main <- 0 in 2
7 main.run <- 0
`
	if l := listed(got); l != want {
		t.Errorf("joined:\n%swant\n%s", l, want)
	}
	if g := got.Nodes[5].Go.Func; g != "example.com/helper.main" {
		t.Errorf("the go statement is in %s", g)
	}
	var nodes []trace.NodeID
	for _, a := range got.Activations {
		nodes = append(nodes, a.Node)
	}
	if want := []trace.NodeID{0, 2, 5, 7}; !slices.Equal(nodes, want) {
		t.Errorf("values of nodes %v, want %v", nodes, want)
	}
	if want := []trace.Loss{
		{Kind: trace.LossOverflow, Count: 2, Nodes: 8}, {Kind: trace.LossNotHooked, Function: "lib.asm"},
		{Kind: trace.LossOverflow, Count: 6, Detail: "in helper: full"}, {Kind: trace.LossNotHooked, Function: "example.com/helper.cold"},
	}; !slices.Equal(got.Losses, want) {
		t.Errorf("losses %v, want %v", got.Losses, want)
	}
}

// Whatever is listed and whatever is missing, joining gives a well-formed trace with every
// call once.
func TestJoinRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		root := randomTrace(seed)
		parts := make([]*trace.Trace, r.IntN(8))
		calls, nodes := root.Calls(), len(root.Nodes)
		for i := range parts {
			p := trace.Process{Parent: r.IntN(i + 1), Program: fmt.Sprint("/bin/p", r.IntN(3))}
			in := root
			for up := p.Parent; up > 0; up = root.Processes[up-1].Parent {
				if root.Processes[up-1].Trace != "" {
					in = parts[up-1]
					break
				}
			}
			if in != nil {
				p.Before = r.IntN(len(in.Nodes) + 1)
				p.Caller = trace.NodeRef(r.IntN(p.Before + 1))
			}
			if r.IntN(4) > 0 {
				p.Trace = "11111111"
			}
			root.Processes = append(root.Processes, p)
			if p.Trace != "" && r.IntN(4) > 0 {
				parts[i] = randomTrace(seed*10 + uint64(i) + 1000)
				parts[i].Program.MainPath = fmt.Sprint("example.com/p", r.IntN(3))
				calls, nodes = calls+parts[i].Calls(), nodes+len(parts[i].Nodes)
			}
		}
		if err := root.Check(); err != nil {
			t.Fatalf("seed %d: the input is no trace: %v", seed, err)
		}
		got := join(t, root, parts...)
		if got.Calls() != calls || len(got.Nodes) != nodes {
			t.Fatalf("seed %d: %d calls and %d nodes, want %d and %d", seed, got.Calls(), len(got.Nodes), calls, nodes)
		}
	}
}

// A list of processes that no recorder made is refused, or does no harm.
func TestCheckProcesses(t *testing.T) {
	root := made("example.com/app", "main.main", "main.main>main.run")
	for _, tt := range []struct {
		list []trace.Process
		want string
	}{
		{[]trace.Process{{Parent: 1}}, "process 1: it is started by 1, which does not come before it"},
		{[]trace.Process{{Parent: 2}, {}}, "process 1: it is started by 2"},
		{[]trace.Process{{Parent: -1}}, "process 1: it is started by -1"},
		{[]trace.Process{{Caller: 3, Before: 2}}, "process 1: started by node 2 after 2 nodes"},
		{[]trace.Process{{Caller: -1}}, "process 1: started by node -2"},
		{[]trace.Process{{Before: 3}}, "process 1: started after 3 nodes of 2"},
		{[]trace.Process{{}, {Parent: 1, Before: 3}}, "process 2: started after 3 nodes of 2"},
		{[]trace.Process{{Trace: "11111111"}, {Parent: 1, Caller: 70, Before: 90, Trace: "22222222"}}, ""},
	} {
		tr := *root
		tr.Processes = tt.list
		err := tr.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.list, err, tt.want)
		}
		if err == nil { // and what is beyond the parent's trace does no harm
			join(t, &tr, made("example.com/a", "main.main"), made("example.com/b", "main.main"))
		}
	}
	for _, process := range []int32{-1, 2} {
		tr := *root
		tr.Processes = []trace.Process{{}}
		tr.Nodes = slices.Clone(root.Nodes)
		tr.Nodes[0].Process = process
		if err := tr.Check(); err == nil {
			t.Errorf("a root in process %d of 1", process)
		}
	}
}
