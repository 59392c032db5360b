package record

import (
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/store"
)

// windowOf is a window of a service, with what the service did to start, as its recording
// saved them.
func windowOf(t *testing.T, service, function string) WindowSaved {
	t.Helper()
	called := func(name, function string) *trace.Trace {
		tr := &trace.Trace{Name: name, Recorder: "probe", Command: []string{"./" + service}, Program: trace.Program{Path: "/src/" + service, MainPath: "example.com/" + service}}
		b := trace.NewBuilder(tr)
		b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{{Func: b.Func(trace.Function{Name: function, Package: "example.com/" + service})}}, 2)
		return b.Finish()
	}
	s := store.Open(t.TempDir())
	before, err := s.Baselines().Save(called(trace.StartUp, "main.start"))
	if err != nil {
		t.Fatal(err)
	}
	tr := called("checkout", function)
	tr.Baseline = before.ID
	e, err := s.Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	return WindowSaved{Name: tr.Name, Trace: e.ID, Path: e.Path}
}

// Windows of several services become one trace with one baseline, wherever each was saved.
func TestGroupWindows(t *testing.T) {
	s := store.Open(t.TempDir())
	windows := []WindowSaved{windowOf(t, "shop", "main.order"), windowOf(t, "bank", "main.pay")}
	got, err := GroupWindows(s, windows)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "checkout" || got.Calls != 4 || got.Functions != 2 {
		t.Errorf("%+v", got)
	}
	names := func(tr *trace.Trace, e store.Entry, err error) string {
		t.Helper()
		if err == nil {
			tr, _, err = s.Join(tr, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for i := range tr.Nodes {
			if up := tr.Above(trace.NodeID(i)); up != trace.NoNode {
				t.Errorf("node %d is below %d: none started the other", i, up)
			}
			list = append(list, tr.Func(trace.NodeID(i)).Name)
		}
		return strings.Join(list, " ")
	}
	if list := names(s.Load(got.Trace)); list != "main.order example.com/bank.pay" {
		t.Errorf("the group called %s", list)
	}
	tr, _, err := s.Load(got.Trace)
	if err != nil {
		t.Fatal(err)
	}
	if list := names(s.LoadBaseline(tr.Baseline)); list != "main.start example.com/bank.start" {
		t.Errorf("its baseline called %s", list)
	}
	// What was saved for each alone is in the group now, and goes with it.
	for _, w := range windows {
		if _, err := store.Open(t.TempDir()).Find(w.Path); err == nil {
			t.Errorf("%s is still there", w.Path)
		}
	}
	process, _, err := s.Load(tr.Processes[0].Trace)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Load(process.Baseline); err != nil {
		t.Errorf("the baseline of a process, which is shown alone: %v", err)
	}
}
