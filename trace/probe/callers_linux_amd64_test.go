package probe

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// TestCallers holds callers against the truth: a run of which the standard library
// is recorded, too, so that functions called back by it have their callers from its
// own entries, and those by which the program called the library are above them.
// In every pair of caller and callee of the program's own the counts are equal.
func TestCallers(t *testing.T) {
	tablecat := fixtures.Dir("tablecat")
	tests := []struct {
		name string
		how  recordtest.Job
	}{
		{name: "callbacks", how: recordtest.Job{Args: []string{path(t, callbacks)}}},
		{name: "deep", how: recordtest.Job{Args: []string{path(t, deep), "1500"}}},
		{name: "tablecat csv", how: recordtest.Job{Args: []string{fixtures.Build(t, "tablecat"), "--csv", filepath.Join(tablecat, "data.csv")}}},
		{name: "tablecat md", how: recordtest.Job{Args: []string{fixtures.Build(t, "tablecat"), "--md", filepath.Join(tablecat, "doc.md")}}},
		{name: "counters", how: recordtest.Job{Args: []string{fixtures.Build(t, "counters")}}},
	}
	for _, tt := range tests {
		for _, noInlined := range []bool{true, false} {
			if noInlined && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%s, inlined %v", tt.name, !noInlined), func(t *testing.T) {
				// What a sync.Pool holds depends on the collector and on Ps.
				how := recordtest.Run{Job: tt.how, Env: []string{"GOGC=off", "GOMAXPROCS=1"}}
				how.NoInlined = noInlined
				holdCallers(t, how)
			})
		}
	}
	for _, p := range real.Programs {
		if p.Name != "gojq" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			holdCallers(t, recordtest.Run{Job: recordtest.Job{Args: append([]string{real.Install(t, p)}, p.Args...), Dir: p.Dir(t)}})
		})
	}
}

var (
	callbacks = built("./testdata/callbacks")
	deep      = built("./testdata/deep")
)

// holdCallers records twice, and compares.
func holdCallers(t *testing.T, how recordtest.Run) {
	t.Helper()
	own := recordtest.Record(t, how)
	how.Include = []string{"all"}
	all := recordtest.Record(t, how)
	if own.Code != all.Code || own.Stdout != all.Stdout || own.Stderr != all.Stderr {
		t.Errorf("with the library recorded the program does otherwise: exit code %d, not %d; stdout %q, not %q; stderr %q, not %q",
			all.Code, own.Code, all.Stdout, own.Stdout, all.Stderr, own.Stderr)
	}
	recorded := map[string]bool{}
	for i := range own.Trace.Functions {
		recorded[own.Trace.Functions[i].Package] = true
	}
	got, want := callers(own.Trace, recorded), callers(all.Trace, recorded)
	if len(want) < 5 {
		t.Errorf("only %d pairs", len(want))
	}
	for pair := range maps.Keys(got) {
		want[pair] += 0
	}
	for _, pair := range slices.SortedFunc(maps.Keys(want), pair.compare) {
		if got[pair] != want[pair] {
			t.Errorf("%s called %s %d times; with the library recorded %d times", pair.caller, pair.callee, got[pair], want[pair])
		}
	}
}

// pair is a caller and a callee, or no caller: the first function of a goroutine.
type pair struct{ caller, callee string }

func (p pair) compare(q pair) int {
	return slices.Compare([]string{p.caller, p.callee}, []string{q.caller, q.callee})
}

// callers are the calls between functions of these packages, over all others.
func callers(tr *trace.Trace, packages map[string]bool) map[pair]int64 {
	m := map[pair]int64{}
	in := func(id trace.NodeID) bool { return packages[tr.Func(id).Package] }
	for i := range tr.Nodes {
		id := trace.NodeID(i)
		if n := &tr.Nodes[i]; in(id) && n.Calls > 0 {
			by := n.Parent
			for by != trace.NoNode && !in(by) {
				by = tr.Nodes[by].Parent
			}
			p := pair{callee: tr.Func(id).Name}
			if by != trace.NoNode {
				p.caller = tr.Func(by).Name
			}
			m[p] += n.Calls
		}
	}
	return m
}
