package breakpoint

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// TestCounts records the fixtures whole, or with a limit where they call too
// often, and holds every count against the fixture's own table. A count that
// the trace does not call a floor must be exact.
func TestCounts(t *testing.T) {
	programs := []struct {
		name    string
		flags   []string // of go build
		env     []string
		maxHits int
	}{
		{name: "goroutines", maxHits: unlimited},
		{name: "recursion", maxHits: unlimited},
		{name: "closures", maxHits: unlimited},
		{name: "generics", maxHits: unlimited},
		{name: "interfaces", maxHits: unlimited},
		{name: "panics", maxHits: unlimited},
		{name: "inits", maxHits: unlimited},
		{name: "execchild", maxHits: unlimited},
		{name: "cgocalls", maxHits: unlimited},
		{name: "exits", maxHits: unlimited},
		{name: "stdio", maxHits: unlimited},
		{name: "inlining", maxHits: unlimited},
		{name: "twice", maxHits: unlimited},
		{name: "values", maxHits: unlimited},
		{name: "deepstack", maxHits: 20},
		{name: "counters", maxHits: 60},

		// How a program was built, and on how many processors it runs, is
		// not to be seen in what it calls.
		{name: "goroutines", flags: []string{"-ldflags=-s -w"}, maxHits: unlimited},
		{name: "goroutines", flags: []string{"-buildmode=pie"}, maxHits: unlimited},
		{name: "goroutines", env: []string{"GOMAXPROCS=1"}, maxHits: unlimited},
		{name: "panics", flags: []string{"-trimpath", "-buildmode=pie", "-ldflags=-s -w"}, maxHits: unlimited},
		{name: "recursion", flags: []string{"-gcflags=-N -l"}, maxHits: unlimited},
		{name: "cgocalls", flags: []string{"-ldflags=-s -w"}, maxHits: unlimited},
		{name: "counters", flags: []string{"-race"}, maxHits: 20},
		{name: "counters", env: []string{"GOMAXPROCS=8", "GOGC=10"}, maxHits: 20},
	}
	for _, p := range programs {
		t.Run(strings.Join(slices.Concat([]string{p.name}, p.flags, p.env), " "), func(t *testing.T) {
			if slices.Contains(p.flags, "-race") {
				needRace(t)
			}
			how := recordingTest{Job: job{Args: []string{fixtures.Build(t, p.name, p.flags...)}, MaxHits: p.maxHits}, Env: p.env}
			plain := untraced(t, how)
			r := record(t, how)
			if r.Code != plain.Code || r.Stdout != plain.Stdout || r.Stderr != plain.Stderr {
				t.Errorf("the program does otherwise under the recorder: exit code %d, want %d; stdout %q, want %q; stderr %q, want %q",
					r.Code, plain.Code, r.Stdout, plain.Stdout, r.Stderr, plain.Stderr)
			}
			want, inlined := fixtures.Want(t, p.name), fixtures.Inlined(t, p.name)
			got, floor := recordtest.Generic(counts(r.Trace)), floors(r.Trace)
			for _, fn := range slices.Sorted(maps.Keys(want)) {
				switch n := got[fn]; {
				case n == want[fn]:
				case !floor[fn] && !floor[withInstance(fn, floor)]:
					t.Errorf("%s: %d calls, want %d", fn, n, want[fn])
				case n > want[fn] || n < min(want[fn], initHits):
					t.Errorf("%s: %d calls and a floor, but it is called %d times", fn, n, want[fn])
				}
			}
			for _, fn := range slices.Sorted(maps.Keys(got)) {
				_, called := want[fn]
				_, isInlined := inlined[fn]
				if !called && !isInlined && !strings.HasPrefix(fn, "main._Cfunc_") {
					t.Errorf("%s: %d calls, but the program does not call it", fn, got[fn])
				}
			}
			if t.Failed() {
				t.Logf("the trace:\n%s", tree(r.Trace))
			}
		})
	}
}

// withInstance is the name in floors of an instance of a generic function.
func withInstance(fn string, floors map[string]bool) string {
	for f := range floors {
		if recordtest.Instance.ReplaceAllString(f, "[...]") == fn {
			return f
		}
	}
	return fn
}

// TestInlined counts the calls that the compiler replaced by the body. Only those
// that left no instruction are missing: main.other adds constants, and the body
// of x2 became part of an addition.
func TestInlined(t *testing.T) {
	r := record(t, recordingTest{Job: job{Args: []string{fixtures.Build(t, "inlining")}, MaxHits: unlimited}})
	want := fixtures.Inlined(t, "inlining")
	want["main.add"] -= 3
	want["main.point.x2"] = 0
	got := recordtest.Generic(counts(r.Trace))
	for fn, n := range want {
		if got[fn] != n {
			t.Errorf("%s: %d calls, want %d", fn, got[fn], n)
		}
	}
	for i := range r.Trace.Nodes {
		n, name := &r.Trace.Nodes[i], recordtest.Generic(map[string]int64{r.Trace.Func(trace.NodeID(i)).Name: 1})
		for fn := range name {
			if _, is := want[fn]; is != n.Flags.Has(trace.Inlined) || is != n.Flags.Has(trace.Approximate) {
				t.Errorf("%s: marks %b, inlined is %v", fn, n.Flags, is)
			}
		}
	}
	without := record(t, recordingTest{Job: job{Args: []string{fixtures.Build(t, "inlining")}, MaxHits: unlimited, NoInlined: true}})
	if got := counts(without.Trace); got["main.add"] != 0 || got["main.keep"] != 33 {
		t.Errorf("without inlined calls: main.add %d, main.keep %d; want 0 and 33", got["main.add"], got["main.keep"])
	}
}

// TestTree holds whole trees against testdata: callers, lines of calls, roots and
// their go statements, and marks. The lines are those of the fixtures' sources;
// after a change there read the new trees beside them, and write them with
//
//	go test ./trace/breakpoint -run TestTree -update
func TestTree(t *testing.T) {
	for _, name := range []string{"recursion", "closures", "generics", "interfaces", "panics", "inits", "cgocalls", "deepstack", "execchild", "twice", "inlining"} {
		t.Run(name, func(t *testing.T) {
			maxHits := unlimited
			if name == "deepstack" {
				maxHits = 3
			}
			r := record(t, recordingTest{Job: job{Args: []string{fixtures.Build(t, name)}, MaxHits: maxHits}})
			golden(t, name, tree(r.Trace))
		})
	}
}

// TestGoroutineRoots has roots in no particular order: goroutines run as they
// like.
func TestGoroutineRoots(t *testing.T) {
	want := []string{
		"[goroutine main.child:163 (main.child)] main.child.func1 4",
		"[goroutine main.literal:82 (main.literal)] main.literal.func1 3",
		"[goroutine main.methods:117 (main.methods)] main.(*account).deposit 5",
		"[goroutine main.nested:145 (main.nested)] main.parent 2",
		"[goroutine main.parent:157 (main.parent)] main.child 4",
		"[goroutine main.pool:48 (main.pool)] main.worker 4",
		"[goroutine main.values:129 (main.values)] main.report 1",
		"[goroutine main.values:131 (main.values)] main.report 1",
		"[main] main.main 1",
	}
	// Without DWARF the goroutine is found through a register and a table.
	for _, flags := range [][]string{nil, {"-ldflags=-s -w"}} {
		r := record(t, recordingTest{Job: job{Args: []string{fixtures.Build(t, "goroutines", flags...)}, MaxHits: unlimited}})
		var got []string
		for line := range strings.Lines(tree(r.Trace)) {
			if strings.HasPrefix(line, "[") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v: roots\n%s\nwant\n%s", flags, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if r.Trace.Goroutines != 25 {
			t.Errorf("%v: %d goroutines, want 25", flags, r.Trace.Goroutines)
		}
	}
}
