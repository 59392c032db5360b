package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"tracerag/trace"
)

// sampleTrace has every feature that the file must carry.
func sampleTrace() *trace.Trace {
	t := &trace.Trace{
		Recorder: "breakpoint", Command: []string{"./app", "--csv", "data file.csv"}, Dir: "/src/app",
		Start: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), Duration: 1500 * time.Millisecond,
		Exit: trace.Exit{Code: 3},
		Program: trace.Program{
			Path: "/src/app/app", BuildID: "abc/def", GoVersion: "go1.26.1", GOOS: "linux", GOARCH: "amd64",
			MainPath: "example.com/app", Main: trace.Module{Path: "example.com/app", Version: "(devel)"},
			Deps:     []trace.Module{{Path: "example.com/lib", Version: "v1.0.0", Sum: "h1:x", Replace: &trace.Module{Path: "../lib"}}},
			Settings: []trace.Setting{{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: "0123"}},
		},
		Include: []string{"./..."}, Exclude: []string{"example.com/noise"}, Baseline: "0123abcd", Goroutines: 2,
		Losses: []trace.Loss{
			{Kind: trace.LossNotHooked, Function: "example.com/lib.asm", Detail: "assembly"},
			{Kind: trace.LossFloor, Function: "example.com/app.hot", Count: 200},
		},
		Processes: []trace.Process{
			{Program: "/bin/sh", Command: []string{"sh", "-c", "helper 1"}, Caller: 3, Before: 4, Why: "no Go program"},
			{Parent: 1, Program: "/src/app/helper", Command: []string{"helper", "1"}, Caller: 3, Before: 4, Trace: "89abcdef", Calls: 7},
			{Parent: 2, Program: "/src/app/other", Command: []string{"other"}, Caller: 200, Before: 300, Trace: "01234567", Calls: 1},
		},
	}
	b := trace.NewBuilder(t)
	fn := func(name string, line int) trace.FuncID {
		return b.Func(trace.Function{Name: name, Package: t.Program.PackageOf(name), File: "/src/app/main.go", StartLine: line})
	}
	_ = fn("main.never", 99) // named by no node: left out
	mainf, work, small, rec := fn("main.main", 10), fn("main.work", 20), fn("main.small", 30), fn("main.rec", 40)
	ini := fn("example.com/lib.init", 1)
	t.Lines = map[trace.FuncID]trace.Lines{0: {First: 99, States: "n"}, work: {First: 20, States: "rr.n?r"}, rec: {First: 41, States: "r"}}
	b.Call(trace.Root{Kind: trace.RootInit}, []trace.Frame{{Func: ini}}, 1)
	root := trace.Root{Kind: trace.RootMain}
	b.Call(root, []trace.Frame{{Func: mainf}}, 1)
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: work, CallLine: 11}}, 1)
	in := b.Call(root, []trace.Frame{{Func: mainf}, {Func: work, CallLine: 11}, {Func: small, CallLine: 21, Inlined: true}}, 7)
	t.Nodes[in].Flags |= trace.Approximate | trace.Floor
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: work, CallLine: 12}}, 2)
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: rec, CallLine: 13}}, 1)
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: rec, CallLine: 13}, {Func: rec, CallLine: 41}}, 9)
	b.Call(root, []trace.Frame{{Func: mainf}, {Func: rec, CallLine: 13}, {Func: rec, CallLine: 41}, {Func: work, CallLine: 42, Via: true}}, 4)
	g := trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Func: "main.main", File: "/src/app/main.go", Line: 15, Creator: trace.NodeID(1).Ref()}}
	b.Call(g, []trace.Frame{{Func: work}}, 3)
	b.Call(trace.Root{Kind: trace.RootCallback}, []trace.Frame{{Func: small, Via: true}}, 3)
	t.Activations = []trace.Activation{
		{Node: 1},
		{Node: in, Returned: true, Args: []trace.Value{{Name: "s", Type: "string", Text: `"<a> & \n..."`, Cut: true}},
			Results: []trace.Value{{Name: "n", Type: "int", Text: "-3"}, {Type: "error", Text: `*errors.errorString(&{s: "日本"})`}}},
		{Node: in, Args: []trace.Value{{Name: "s", Type: "string", Unread: "not readable"}}},
	}
	return b.Finish()
}

func encode(t *testing.T, tr *trace.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tr.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadingBackGivesTheSameTrace(t *testing.T) {
	want := sampleTrace()
	file := encode(t, want)
	got, err := trace.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back:\n%+v\nwritten:\n%+v", got, want)
	}
	if !bytes.Equal(encode(t, got), file) {
		t.Error("write, read, write is not byte-identical")
	}
}

// randomTrace calls random stacks of a small program, recursion included.
func randomTrace(seed uint64) *trace.Trace {
	r := rand.New(rand.NewPCG(seed, 1))
	t := &trace.Trace{Recorder: "probe", Command: []string{"x"}, Sampled: r.IntN(4) == 0}
	b := trace.NewBuilder(t)
	for range r.IntN(200) {
		stack := make([]trace.Frame, 1+r.IntN(8))
		for i := range stack {
			n := r.IntN(10)
			f := trace.Function{Name: fmt.Sprintf("main.f%d", n), Package: "main", File: "f.go", StartLine: n * 10}
			stack[i] = trace.Frame{Func: b.Func(f), CallLine: r.IntN(3), Inlined: r.IntN(4) == 0, Via: r.IntN(5) == 0}
		}
		root := trace.Root{Kind: trace.RootMain}
		if r.IntN(3) == 0 {
			root = trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Line: r.IntN(3)}}
		}
		b.Call(root, stack, int64(r.IntN(5)))
	}
	b.Finish()
	for id := range t.Functions {
		if r.IntN(3) == 0 {
			t.Lines = map[trace.FuncID]trace.Lines{trace.FuncID(id): {First: 1 + r.IntN(50), States: "r" + strings.Repeat([]string{".", "n", "?"}[r.IntN(3)], r.IntN(30)) + "n"}}
		}
	}
	return t
}

func TestRandomTracesSurviveTheFile(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 50 // under the race detector 200 take 7 s
	}
	for seed := range seeds {
		want := randomTrace(seed)
		if err := want.Check(); err != nil {
			t.Fatalf("seed %d: the builder made a malformed trace: %v", seed, err)
		}
		file := encode(t, want)
		got, err := trace.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got.Nodes, want.Nodes) || !reflect.DeepEqual(got.Lines, want.Lines) || !bytes.Equal(encode(t, got), file) {
			t.Fatalf("seed %d: the trace changed on its way through the file", seed)
		}
	}
}

func TestBuilderFoldsRecursionAndKeepsEveryCall(t *testing.T) {
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	f := func(name string) trace.FuncID { return b.Func(trace.Function{Name: name}) }
	even, odd, leaf := f("even"), f("odd"), f("leaf")
	root := trace.Root{Kind: trace.RootMain}
	stack := []trace.Frame{{Func: even}}
	b.Call(root, stack, 1)
	for i := range 1000 {
		stack = append(stack, trace.Frame{Func: []trace.FuncID{odd, even}[i%2], CallLine: 5})
		b.Call(root, stack, 1)
	}
	b.Call(root, append(stack, trace.Frame{Func: leaf, CallLine: 6}), 1)
	b.Finish()
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	if got := tr.Calls(); got != 1002 {
		t.Errorf("%d calls in the tree, 1002 made", got)
	}
	if len(tr.Nodes) != 4 {
		t.Fatalf("%d nodes, want even, odd, the folded even and leaf: %+v", len(tr.Nodes), tr.Nodes)
	}
	// The 1000th inner call is of even, so leaf was called by even: it hangs
	// under the ancestor that the recursion folded onto.
	if n := tr.Nodes[3]; tr.Functions[n.Func].Name != "leaf" || n.Parent != 0 {
		t.Errorf("leaf hangs under node %d, want 0", n.Parent)
	}
	if n := tr.Nodes[2]; !n.Flags.Has(trace.Recursive) || n.Calls != 500 {
		t.Errorf("folded node %+v, want 500 recursive calls", n)
	}
}

func TestGoToolPprofOpensATrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.pb.gz")
	if err := os.WriteFile(file, encode(t, sampleTrace()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"File: app", "Type: calls", "main.work", "main.small (inline)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("go tool pprof -top does not print %q:\n%s", want, out)
		}
	}
}

func TestUnreadableFilesSayWhatIsWrong(t *testing.T) {
	good := encode(t, sampleTrace())
	foreign := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	var cpu bytes.Buffer
	if err := foreign.Write(&cpu); err != nil {
		t.Fatal(err)
	}
	edit := func(f func(p *profile.Profile)) []byte {
		p, err := profile.ParseData(good)
		if err != nil {
			t.Fatal(err)
		}
		f(p)
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"truncated", good[:len(good)/2], "truncated"},
		{"text", []byte("goroutine profile: total 3\n"), "not a pprof profile"},
		{"gzipped text", func() []byte { var b bytes.Buffer; _ = foreign.Write(&b); return b.Bytes()[:12] }(), "truncated"},
		{"newer", edit(func(p *profile.Profile) { p.Comments[0] = "tracerag.format=99" }), "update tracerag"},
		{"no format", edit(func(p *profile.Profile) { p.Comments = p.Comments[1:] }), "format"},
		{"bad comment", edit(func(p *profile.Profile) { setComment(p, "recorder", "[") }), "tracerag.recorder"},
		{"requires more", edit(func(p *profile.Profile) { p.Comments = append(p.Comments, `tracerag.requires=["results","threads"]`) }), "(results, threads): update tracerag"},
		{"no total", edit(func(p *profile.Profile) { p.Comments = slices.Delete(p.Comments, 1, 2) }), "tracerag.total is missing"},
		{"a comment twice", edit(func(p *profile.Profile) { p.Comments = append(p.Comments, `tracerag.dir="/elsewhere"`) }), "tracerag.dir is repeated 2 times"},
		{"other counts", edit(func(p *profile.Profile) { p.Sample[0].Value[0] = 101 }), "132 calls in 10 nodes where 32 in 10 were recorded"},
		{"another node", edit(func(p *profile.Profile) { p.Sample = append(p.Sample, &profile.Sample{Value: []int64{0}}) }), "32 calls in 11 nodes where 32 in 10 were recorded"},
		{"reordered", edit(func(p *profile.Profile) { p.Sample[1], p.Sample[3] = p.Sample[3], p.Sample[1] }), "another tool"},
		{"dropped", edit(func(p *profile.Profile) { p.Sample = p.Sample[2:] }), "another tool"},
		{"unknown root", edit(func(p *profile.Profile) { p.Sample[0].Label["tracerag.root"] = []string{"kernel"} }), "kernel"},
		{"creator out of range", edit(func(p *profile.Profile) {
			for _, s := range p.Sample {
				if s.NumLabel["tracerag.go.creator"] != nil {
					s.NumLabel["tracerag.go.creator"] = []int64{4000}
				}
			}
		}), "creator"},
		{"lines of no function", edit(func(p *profile.Profile) { addComment(p, `lines={"function":99,"first":1,"states":"r"}`) }), "lines of unknown function 98"},
		{"lines twice", edit(func(p *profile.Profile) {
			addComment(p, `lines={"function":1,"first":1,"states":"r"}`)
			addComment(p, `lines={"function":1,"first":1,"states":"r"}`)
		}), "function 1 is repeated or unknown"},
		{"lines of function 0", edit(func(p *profile.Profile) { addComment(p, `lines={"first":1,"states":"r"}`) }), "function 0 is repeated or unknown"},
		{"unknown states", edit(func(p *profile.Profile) { addComment(p, `lines={"function":1,"first":1,"states":"rxr"}`) }), `unknown states of lines in "rxr"`},
		{"lines that are not trimmed", edit(func(p *profile.Profile) { addComment(p, `lines={"function":1,"first":1,"states":"r."}`) }), "no code"},
		{"no lines", edit(func(p *profile.Profile) { addComment(p, `lines={"function":1,"first":1}`) }), "no lines"},
		{"lines from line 0", edit(func(p *profile.Profile) { addComment(p, `lines={"function":1,"states":"r"}`) }), "first line is 0"},
		{"lines beyond all numbers", edit(func(p *profile.Profile) {
			addComment(p, `lines={"function":1,"first":2147483647,"states":"rr"}`)
		}), "first line is 2147483647"},
		{"negative calls", edit(func(p *profile.Profile) { p.Sample[0].Value[0], p.Sample[1].Value[0] = -1, 3 }), "-1 calls"},
		{"values of no node", edit(func(p *profile.Profile) { addComment(p, `values={"node":0}`) }), "no node 0"},
		{"values of a node after the last", edit(func(p *profile.Profile) { addComment(p, `values={"node":11}`) }), "no node 11"},
		{"values out of order", edit(func(p *profile.Profile) { addComment(p, `values={"node":1}`) }), "node 0 after node 3"},
		{"values of too many calls", edit(func(p *profile.Profile) {
			for range trace.MaxActivations {
				addComment(p, `values={"node":4}`)
			}
		}), "more than 16 activations"},
		{"results of a call that did not return", edit(func(p *profile.Profile) { addComment(p, `values={"node":4,"results":[{"text":"1"}]}`) }), "did not return"},
		{"a value without a text", edit(func(p *profile.Profile) { addComment(p, `values={"node":4,"args":[{"name":"n"}]}`) }), "neither a text"},
		{"a value that is no line", edit(func(p *profile.Profile) { addComment(p, `values={"node":4,"args":[{"text":"1\n2"}]}`) }), "U+000A"},
		{"a value without end", edit(func(p *profile.Profile) {
			addComment(p, `values={"node":4,"args":[{"text":"`+strings.Repeat("x", 5000)+`"}]}`)
		}), "5000 bytes"},
		{"values that are no values", edit(func(p *profile.Profile) { addComment(p, `values=[1]`) }), "tracerag.values"},
		{"more calls than a number holds", edit(func(p *profile.Profile) {
			p.Sample[0].Value[0], p.Sample[1].Value[0], p.Sample[2].Value[0] = math.MaxInt64, math.MaxInt64, 5
		}), "64 bits"},
	} {
		_, err := trace.Read(bytes.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if errors.Is(err, trace.ErrForeign) {
			t.Errorf("%s: taken for a foreign profile", c.name)
		}
	}
	if _, err := trace.Read(&cpu); !errors.Is(err, trace.ErrForeign) {
		t.Errorf("a CPU profile gives %v, want ErrForeign", err)
	}
}

// addComment adds a comment of ours.
func addComment(p *profile.Profile, c string) { p.Comments = append(p.Comments, "tracerag."+c) }

// setComment replaces the value of a comment that p has.
func setComment(p *profile.Profile, key, value string) {
	i := slices.IndexFunc(p.Comments, func(c string) bool { return strings.HasPrefix(c, "tracerag."+key+"=") })
	p.Comments[i] = "tracerag." + key + "=" + value
}

// A later version may add facts that this one can do without.
func TestUnknownFactsAreSkipped(t *testing.T) {
	want := sampleTrace()
	p, err := profile.ParseData(encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	p.Comments = append(p.Comments, `tracerag.host="a"`, `tracerag.host="b"`, "tracerag.bare", "tracerag.requires=[]", "another tool's")
	setComment(p, "exit", `{"code":3,"core":true}`)
	for _, s := range p.Sample {
		if s.NumLabel == nil {
			s.NumLabel = map[string][]int64{}
		}
		if s.Label == nil {
			s.Label = map[string][]string{}
		}
		s.Label["tracerag.mark"] = append(s.Label["tracerag.mark"], "shiny")
		s.Label["tracerag.colour"] = []string{"red"}
		s.NumLabel["tracerag.weight"] = []int64{7}
	}
	got, err := trace.FromProfile(p)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v; read back:\n%+v\nwritten:\n%+v", err, got, want)
	}
}

// What go tool pprof makes of a trace is the same trace or an error that says
// what has happened.
func TestWhatPprofMakesOfATrace(t *testing.T) {
	dir := t.TempDir()
	other := sampleTrace()
	other.Nodes[2].Calls += 5
	other.Command = []string{"./app", "--md"}
	for name, tr := range map[string]*trace.Trace{"a.pb.gz": sampleTrace(), "b.pb.gz": other} {
		if err := os.WriteFile(filepath.Join(dir, name), encode(t, tr), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{ // an empty want: the same trace
		{"a.pb.gz", ""},
		{"-lines a.pb.gz", ""},
		{"a.pb.gz a.pb.gz", "64 calls in 10 nodes where 32 in 10 were recorded"},
		{"a.pb.gz b.pb.gz", "tracerag.total is repeated 2 times, as after merging"},
		{"-diff_base a.pb.gz a.pb.gz", "where 32 in 10 were recorded"},
		{"-base a.pb.gz b.pb.gz", "as after merging"},
		{"-focus work a.pb.gz", "17 calls in 5 nodes where 32 in 10 were recorded"},
		{"-hide rec a.pb.gz", "another tool has changed the file"},
		{"-noinlines a.pb.gz", "another tool has changed the file"},
	} {
		cmd := exec.Command("go", append(strings.Fields("tool pprof -proto -output out.pb.gz"), strings.Fields(c.args)...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c.args, err, out)
		}
		file, err := os.ReadFile(filepath.Join(dir, "out.pb.gz"))
		if err != nil {
			t.Fatal(err)
		}
		switch tr, err := trace.Read(bytes.NewReader(file)); {
		case c.want == "" && (err != nil || !reflect.DeepEqual(tr, sampleTrace())):
			t.Errorf("%s: another trace: %v", c.args, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", c.args, err, c.want)
		}
	}
}

// The encoder is ours: its bytes are those that google/pprof's package writes.
func TestTheFileIsAsPprofWritesIt(t *testing.T) {
	for seed := range uint64(30) {
		tr := randomTrace(seed)
		if seed == 0 {
			tr = sampleTrace()
		}
		zr, err := gzip.NewReader(bytes.NewReader(encode(t, tr)))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := io.ReadAll(zr)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseUncompressed(ours)
		if err != nil {
			t.Fatal(err)
		}
		var theirs bytes.Buffer
		if err := p.WriteUncompressed(&theirs); err != nil || !bytes.Equal(ours, theirs.Bytes()) {
			t.Errorf("seed %d: %d bytes, google/pprof writes %d others, %v", seed, len(ours), theirs.Len(), err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, tr := range []*trace.Trace{sampleTrace(), randomTrace(7)} {
		var z, raw bytes.Buffer
		_ = tr.Write(&z)
		p, err := profile.ParseData(z.Bytes())
		if err != nil {
			f.Fatal(err)
		}
		_ = p.WriteUncompressed(&raw)
		f.Add(z.Bytes())
		f.Add(raw.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := trace.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		// Whatever is accepted is well formed, and stays the same from here on.
		first := encode(t, tr)
		again, err := trace.Read(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("what was read and written cannot be read: %v", err)
		}
		if !bytes.Equal(encode(t, again), first) {
			t.Fatal("write, read, write is not byte-identical")
		}
		// Whatever it says of processes, it can be joined with any traces.
		if len(tr.Processes) > 20 || len(tr.Nodes) > 10_000 {
			return
		}
		parts := make([]*trace.Trace, len(tr.Processes))
		for i := range parts {
			parts[i] = []*trace.Trace{nil, again, processPart}[i%3]
		}
		if joined, err := tr.Join(parts); err == nil {
			if err := joined.Check(); err != nil {
				t.Fatalf("joined it is malformed: %v", err)
			}
		}
	})
}

var processPart = sampleTrace()

func BenchmarkFile(b *testing.B) {
	tr := &trace.Trace{Recorder: "probe"}
	bl := trace.NewBuilder(tr)
	r := rand.New(rand.NewPCG(1, 1))
	for len(tr.Nodes) < 50_000 {
		stack := make([]trace.Frame, 1+r.IntN(30))
		for i := range stack {
			n := r.IntN(3) + 3*i
			stack[i] = trace.Frame{Func: bl.Func(trace.Function{Name: fmt.Sprintf("main.f%d", n), Package: "main", File: "f.go", StartLine: n})}
		}
		bl.Call(trace.Root{Kind: trace.RootMain}, stack, 1)
	}
	bl.Finish()
	var file bytes.Buffer
	b.Run("write50k", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			file.Reset()
			if err := tr.Write(&file); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(file.Len()), "file-B")
	})
	b.Run("read50k", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := trace.Read(bytes.NewReader(file.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
