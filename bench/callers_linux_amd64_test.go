package bench

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
)

// TestCallers holds who called whom against a recording of the same run with the
// standard library: there the stack between two functions is not guessed, every
// function on it has been seen. Not one caller may be another.
func TestCallers(t *testing.T) {
	if testing.Short() {
		t.Skip("installs programs")
	}
	programs := map[string]func(t testing.TB) run{
		"tablecat": tablecat,
		"gojq":     func(t testing.TB) run { return small(t, "gojq") },
		"shfmt":    func(t testing.TB) run { return small(t, "shfmt") },
		"counters": func(t testing.TB) run { return run{args: []string{fixtures.Build(t, "counters")}} },
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		t.Run(name, func(t *testing.T) {
			r := programs[name](t)
			r.env = []string{"GOMAXPROCS=1", "GOGC=off"} // for equal runs: see BenchmarkSeen
			record := func(include ...string) *trace.Trace {
				rep, _ := r.recorded(t, job{Recorder: "probe", Include: include}, false)
				return readTrace(t, rep.Path)
			}
			tr := record()
			ours := map[string]bool{} // packages
			for _, f := range tr.Functions {
				ours[f.Package] = true
			}
			more := record("all")
			if len(more.Functions) <= len(tr.Functions) {
				t.Fatal("the standard library was not recorded")
			}
			got, want := edges(tr, ours), edges(more, ours)
			for _, e := range slices.SortedFunc(maps.Keys(got), edge.compare) {
				if !want[e] {
					t.Errorf("%s is not called by %s", e.callee, e.caller)
				}
			}
			t.Logf("%d pairs of caller and callee, %d with the standard library recorded", len(got), len(want))
		})
	}
}

type edge struct{ caller, callee string }

func (e edge) compare(f edge) int {
	if c := strings.Compare(e.caller, f.caller); c != 0 {
		return c
	}
	return strings.Compare(e.callee, f.callee)
}

// edges are the pairs of caller and callee in packages of ours, other functions
// between them left out.
func edges(tr *trace.Trace, ours map[string]bool) map[edge]bool {
	own := func(id trace.NodeID) bool { return ours[tr.Func(id).Package] }
	children := map[trace.NodeID][]trace.NodeID{}
	for i := range tr.Nodes {
		children[tr.Nodes[i].Parent] = append(children[tr.Nodes[i].Parent], trace.NodeID(i))
	}
	all := map[edge]bool{}
	for i := range tr.Nodes {
		id := trace.NodeID(i)
		if !own(id) {
			continue
		}
		caller := tr.Nodes[id].Parent
		for caller != trace.NoNode && !own(caller) {
			caller = tr.Nodes[caller].Parent
		}
		name := "nobody"
		if caller != trace.NoNode {
			name = tr.Func(caller).Name
		}
		all[edge{name, tr.Func(id).Name}] = true

		// The calls of a recursive call of a function that is not ours are
		// below its ancestor of the same name, as if that had been called
		// by another.
		seen := map[trace.NodeID]bool{}
		var below func(id trace.NodeID)
		below = func(n trace.NodeID) {
			for _, k := range children[n] {
				switch {
				case own(k):
					all[edge{tr.Func(id).Name, tr.Func(k).Name}] = true
				case !seen[k]:
					seen[k] = true
					below(k)
					if tr.Nodes[k].Flags.Has(trace.Recursive) {
						below(ancestor(tr, k))
					}
				}
			}
		}
		below(id)
	}
	return all
}

// ancestor is the node that a recursive call was folded onto.
func ancestor(tr *trace.Trace, id trace.NodeID) trace.NodeID {
	for p := tr.Nodes[id].Parent; p != trace.NoNode; p = tr.Nodes[p].Parent {
		if tr.Nodes[p].Func == tr.Nodes[id].Func {
			return p
		}
	}
	return id
}
