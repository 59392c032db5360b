package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"tracerag/calltree"
	"tracerag/export"
	"tracerag/trace"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is the trace that docs/trace-format.md shows, with everything in it
// that a trace can hold.
func example() *trace.Trace {
	t := &trace.Trace{
		Name: "TestFirst", Test: trace.Test{Package: "example.com/app", Name: "TestFirst"}, Recorder: "breakpoint", Command: []string{"./app", "--csv", "my data.csv"}, Dir: "/src/app",
		Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 1500 * time.Millisecond, Exit: trace.Exit{Code: 3},
		Program: trace.Program{
			Path: "/src/app/app", BuildID: "b1", GoVersion: "go1.26.0", GOOS: "linux", GOARCH: "amd64", MainPath: "example.com/app",
			Main:     trace.Module{Path: "example.com/app", Version: "(devel)"},
			Deps:     []trace.Module{{Path: "example.com/lib", Version: "v1.0.0"}},
			Settings: []trace.Setting{{Key: "vcs.revision", Value: "0123abcd"}},
		},
		Include: []string{"example.com/..."}, Exclude: []string{"example.com/noise"}, Baseline: "ab12cd34", Goroutines: 2,
		Losses: []trace.Loss{
			{Kind: trace.LossFloor, Function: "main.small", Count: 200, Detail: "the breakpoint was lifted"},
			{Kind: trace.LossNotHooked, Function: "example.com/lib.asm", Detail: "assembly"},
			{Kind: trace.LossOverflow, Count: 7, Nodes: 3, Detail: "the tables were full"},
		},
		Processes: []trace.Process{
			{Program: "/bin/sh", Command: []string{"sh", "-c", "helper 1"}, Caller: 3, Before: 4, Why: "no Go program"},
			{Parent: 1, Program: "/src/app/helper", Command: []string{"helper", "1"}, Caller: 3, Before: 4, Trace: "89abcdef", Calls: 7},
		},
	}
	b := trace.NewBuilder(t)
	fn := func(name, file string, line int) trace.FuncID {
		return b.Func(trace.Function{Name: name, Package: t.Program.PackageOf(name), File: file, StartLine: line})
	}
	const file = "/src/app/main.go"
	mainf, work, small, fib, less := fn("main.main", file, 10), fn("main.work", file, 20), fn("main.small", file, 30), fn("main.fib", file, 40), fn("main.less", file, 50)
	ini, worker := fn("example.com/lib.init.0", "/mod/example.com/lib@v1.0.0/lib.go", 5), fn("main.(*pool).work", file, 60)
	b.Call(trace.Root{Kind: trace.RootInit}, []trace.Frame{{Func: ini}}, 1)
	root := trace.Root{Kind: trace.RootMain}
	b.Call(root, []trace.Frame{{Func: mainf}}, 1)
	workNode := b.Call(root, []trace.Frame{{Func: mainf}, {Func: work, CallLine: 11}}, 2)
	n := b.Call(root, []trace.Frame{{Func: mainf}, {Func: work, CallLine: 11}, {Func: small, CallLine: 22, Inlined: true}}, 200)
	t.Nodes[n].Flags |= trace.Floor | trace.Approximate
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: work, CallLine: 11}, {Func: less, CallLine: 24, Via: true}}, 6)
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: fib, CallLine: 13}}, 1)
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: fib, CallLine: 13}, {Func: fib, CallLine: 44}}, 8)
	t.Lines = map[trace.FuncID]trace.Lines{work: {First: 20, States: "rrr.r.rn?"}}
	goStmt := trace.GoStmt{Func: "main.work", File: file, Line: 26, Creator: workNode.Ref()}
	b.Call(trace.Root{Kind: trace.RootGoroutine, Go: goStmt}, []trace.Frame{{Func: worker}}, 2)
	b.Call(trace.Root{Kind: trace.RootCallback}, []trace.Frame{{Func: less, Via: true}}, 1)
	t.Activations = []trace.Activation{
		{Node: workNode, Returned: true,
			Args: []trace.Value{
				{Name: "p", Type: "*main.pool", Text: "&{size: 4, name: \"first\", next: ...}", Cut: true},
				{Name: "emoji", Type: "bool", Text: "true"},
			},
			Results: []trace.Value{{Type: "error", Text: "nil"}}},
		{Node: workNode, Args: []trace.Value{{Name: "p", Type: "*main.pool", Text: "nil"}, {Name: "emoji", Type: "bool", Unread: "not readable"}}},
	}
	return b.Finish()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, got)
	}
}

// run is a trace with its tree.
func run(t *testing.T, tr *trace.Trace) export.Run {
	t.Helper()
	tree, err := calltree.Build(tr, calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return export.Run{Trace: tr, Tree: tree, Title: "./app"}
}

// Every format stops at the ceiling, with an error that says so.
func TestLimit(t *testing.T) {
	for _, f := range export.Formats() {
		var all, part bytes.Buffer
		r := run(t, example())
		if err := f.Write(export.Limit(&all, export.Ceiling), r); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		most := int64(all.Len() - 1)
		var size *export.SizeError
		if err := f.Write(export.Limit(&part, most), r); !errors.As(err, &size) || size.Most != most {
			t.Errorf("%s: %v for %d bytes of %d", f.Name, err, most, all.Len())
		}
		if int64(part.Len()) > most {
			t.Errorf("%s: %d bytes were written, %d were allowed", f.Name, part.Len(), most)
		}
	}
}

func TestEveryFormatOfTheExample(t *testing.T) {
	for _, f := range export.Formats() {
		var first, second bytes.Buffer
		if err := errors.Join(f.Write(&first, run(t, example())), f.Write(&second, run(t, example()))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: equal traces give different bytes", f.Name)
		}
		if !f.Binary && f.Of == export.Trace { // package calltree has the others; compressed bytes are the Go version's; doc_test.go shows what is in them
			golden(t, "example"+f.Ext, first.Bytes())
		}
	}
}

func TestEveryFormatTakesATraceOfNothingAndReportsAFullDisk(t *testing.T) {
	full := errors.New("disk full")
	for _, f := range export.Formats() {
		if err := f.Write(io.Discard, run(t, &trace.Trace{})); err != nil {
			t.Errorf("%s: an empty trace: %v", f.Name, err)
		}
		if err := f.Write(failing{full}, run(t, example())); !errors.Is(err, full) {
			t.Errorf("%s: %v, want %v", f.Name, err, full)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestFoldedNames(t *testing.T) {
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	call := func(r trace.Root, names ...string) {
		var stack []trace.Frame
		for _, n := range names {
			stack = append(stack, trace.Frame{Func: b.Func(trace.Function{Name: n})})
		}
		b.Call(r, stack, 1)
	}
	call(trace.Root{Kind: trace.RootMain}, "m", "main.F[struct { A int; B int }]")
	call(trace.Root{Kind: trace.RootMain}, "m", "", "odd\nname\u2028here")
	call(trace.Root{Kind: trace.RootGoroutine}, "g")
	call(trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Func: "a;b", Line: 7}}, "g")
	var out bytes.Buffer
	if err := export.Folded(&out, b.Finish()); err != nil {
		t.Fatal(err)
	}
	const want = "[main];m;main.F[struct { A int, B int }] 1\n[main];m;?;odd name here 1\n[go];g 1\n[go a,b:7];g 1\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// randomTrace calls random stacks of a small program.
func randomTrace(seed uint64) *trace.Trace {
	r := rand.New(rand.NewPCG(seed, 2))
	t := &trace.Trace{Recorder: "probe", Sampled: seed%2 == 1}
	b := trace.NewBuilder(t)
	kinds := []trace.RootKind{trace.RootMain, trace.RootInit, trace.RootGoroutine, trace.RootCallback}
	for range r.IntN(100) {
		stack := make([]trace.Frame, 1+r.IntN(6))
		for i := range stack {
			n := r.IntN(9)
			f := trace.Function{Name: fmt.Sprintf("main.f%d", n), Package: "main", StartLine: n}
			stack[i] = trace.Frame{Func: b.Func(f), CallLine: r.IntN(3), Inlined: r.IntN(4) == 0, Via: r.IntN(5) == 0}
		}
		root := trace.Root{Kind: kinds[r.IntN(len(kinds))], Go: trace.GoStmt{Func: "main.f1", Line: r.IntN(3)}}
		b.Call(root, stack, int64(r.IntN(3)))
	}
	b.AttachGoroutines()
	return b.Finish()
}

func TestFoldedStacksHoldEveryCallOnce(t *testing.T) {
	for seed := range uint64(50) {
		tr := randomTrace(seed)
		var out bytes.Buffer
		if err := export.Folded(&out, tr); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for line := range strings.Lines(out.String()) {
			i := strings.LastIndexByte(line, ' ')
			n, err := strconv.ParseInt(strings.TrimSuffix(line[i+1:], "\n"), 10, 64)
			if err != nil || n <= 0 || !strings.HasPrefix(line, "[") {
				t.Fatalf("seed %d: line %q", seed, line)
			}
			sum += n
		}
		if sum != tr.Calls() {
			t.Errorf("seed %d: %d calls in the stacks, %d in the trace", seed, sum, tr.Calls())
		}
	}
}

func readProcess(t *testing.T, line []byte, id int) trace.Process {
	t.Helper()
	var l struct {
		ID                  int
		Parent              *int
		Program, Trace, Why string
		Command             []string
		Caller              *trace.NodeID
		Before              int
		Calls               int64
	}
	if err := json.Unmarshal(line, &l); err != nil || l.ID != id {
		t.Fatalf("%v in %s, where process %d is due", err, line, id)
	}
	p := trace.Process{Program: l.Program, Command: l.Command, Before: l.Before, Trace: l.Trace, Calls: l.Calls, Why: l.Why}
	if l.Parent != nil {
		p.Parent = *l.Parent + 1
	}
	if l.Caller != nil {
		p.Caller = l.Caller.Ref()
	}
	return p
}

// readJSONLines is a reader that another program might have: whatever it can
// rebuild is in the output.
func readJSONLines(t *testing.T, data []byte) *trace.Trace {
	t.Helper()
	var out trace.Trace
	marks := map[string]trace.Flags{"approximate": trace.Approximate, "floor": trace.Floor, "inlined": trace.Inlined, "recursive": trace.Recursive, "via": trace.Via}
	var want, got [5]int
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte(`{"type":"process"`)) {
			out.Processes = append(out.Processes, readProcess(t, line, got[4]))
			got[4]++
			continue
		}
		var l struct {
			Schema, Type string
			// of the header
			Test        trace.Test
			Recorder    string
			Sampled     bool
			Command     []string
			Dir         string
			Start       time.Time
			DurationNS  time.Duration `json:"duration_ns"`
			Exit        trace.Exit
			Program     trace.Program
			Include     []string
			Exclude     []string
			Baseline    string
			Goroutines  int64
			Functions   int
			Nodes       int
			Losses      int
			Activations int
			Processes   int
			// of a function
			ID            int
			Name, Package string
			File          string
			Line          int
			// of a node
			Parent   *trace.NodeID
			FuncID   trace.FuncID `json:"function_id"`
			CallLine int          `json:"call_line"`
			Calls    int64
			Root     trace.RootKind
			Go       *struct {
				Function, File string
				Line           int
				Creator        *trace.NodeID
			}
			Marks []string
			// of a loss
			FirstLine int    `json:"first_line"`
			States    string `json:"line_states"`

			Kind     trace.LossKind
			Function string
			Count    int64
			Detail   string
			// of an activation
			Node          trace.NodeID
			Args, Results []trace.Value
			Returned      bool
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if (l.Schema == export.Schema) != (len(out.Recorder) == 0) {
			t.Fatalf("schema %q in %s", l.Schema, line)
		}
		switch l.Type {
		case "trace":
			want = [5]int{l.Functions, l.Nodes, l.Losses, l.Activations, l.Processes}
			out = trace.Trace{Name: l.Name, Test: l.Test, Recorder: l.Recorder, Sampled: l.Sampled, Command: l.Command, Dir: l.Dir, Start: l.Start, Duration: l.DurationNS,
				Exit: l.Exit, Program: l.Program, Include: l.Include, Exclude: l.Exclude, Baseline: l.Baseline, Goroutines: l.Goroutines}
		case "function":
			if l.ID != got[0] {
				t.Fatalf("function %d where %d is due", l.ID, got[0])
			}
			got[0]++
			out.Functions = append(out.Functions, trace.Function{Name: l.Name, Package: l.Package, File: l.File, StartLine: l.Line})
			if l.States != "" {
				if out.Lines == nil {
					out.Lines = map[trace.FuncID]trace.Lines{}
				}
				out.Lines[trace.FuncID(l.ID)] = trace.Lines{First: l.FirstLine, States: l.States}
			}
		case "node":
			if l.ID != got[1] {
				t.Fatalf("node %d where %d is due", l.ID, got[1])
			}
			got[1]++
			n := trace.Node{Parent: trace.NoNode, Func: l.FuncID, CallLine: l.CallLine, Calls: l.Calls, Root: l.Root}
			if l.Parent != nil {
				n.Parent = *l.Parent
			}
			if l.Go != nil {
				n.Go.Func, n.Go.File, n.Go.Line = l.Go.Function, l.Go.File, l.Go.Line
				if l.Go.Creator != nil {
					n.Go.Creator = l.Go.Creator.Ref()
				}
			}
			for _, m := range l.Marks {
				n.Flags |= marks[m]
			}
			out.Nodes = append(out.Nodes, n)
		case "loss":
			got[2]++
			out.Losses = append(out.Losses, trace.Loss{Kind: l.Kind, Function: l.Function, Count: l.Count, Nodes: int64(l.Nodes), Detail: l.Detail})
		case "activation":
			got[3]++
			out.Activations = append(out.Activations, trace.Activation{Node: l.Node, Args: l.Args, Results: l.Results, Returned: l.Returned})
		default:
			t.Fatalf("type %q in %s", l.Type, line)
		}
	}
	if got != want {
		t.Errorf("%v functions, nodes, losses, activations and processes; the header promises %v", got, want)
	}
	return &out
}

// A field that is new to the model fails here first, and then in the tests of
// those formats and of the document that claim to have everything.
func TestTheExampleHasEverything(t *testing.T) {
	tr := reflect.ValueOf(*example())
	for i := range tr.NumField() {
		if name := tr.Type().Field(i).Name; name != "Sampled" && tr.Field(i).IsZero() {
			t.Errorf("the example has no %s", name)
		}
	}
}

func TestJSONLinesHoldTheWholeTrace(t *testing.T) {
	traces := []*trace.Trace{example()}
	for seed := range uint64(20) {
		traces = append(traces, randomTrace(seed))
	}
	for i, want := range traces {
		var out bytes.Buffer
		if err := export.JSONLines(&out, want); err != nil {
			t.Fatal(err)
		}
		got := readJSONLines(t, out.Bytes())
		if len(want.Nodes) == 0 {
			got.Nodes, got.Functions = want.Nodes, want.Functions
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("trace %d: read\n%+v\nwritten\n%+v", i, got, want)
		}
	}
}
