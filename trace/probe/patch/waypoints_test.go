package patch

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tracerag/trace/probe/patch/patchtest"
)

// TestWaypoints has those of a program that renders templates with the standard
// library: recursion there goes by one of them at least.
func TestWaypoints(t *testing.T) {
	f, c := patchtest.Open(t, "tablecat")
	p, err := Make(f, c, func(pkg string) bool { return !f.Std(pkg) }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range p.Waypoints {
		h := &p.Waypoints[i]
		fn := &f.Funcs[h.Func]
		if !f.Std(fn.Package) || refuse(fn) != "" {
			t.Errorf("%s is a waypoint", fn.Name)
		}
		if h.Callee != fn.Entry || h.At < fn.Entry || h.At >= fn.End {
			t.Errorf("%s at %#x: the hook is at %#x and says %#x", fn.Name, fn.Entry, h.At, h.Callee)
		}
		names = append(names, fn.Name)
	}
	for _, pkg := range []string{"text/template.(*state).", "fmt.(*pp)."} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, pkg) }) {
			t.Errorf("no waypoint in %s: %q", pkg, names)
		}
	}
	// What calls nothing that is recorded, and nothing that is not known, needs none.
	if slices.ContainsFunc(names, func(n string) bool {
		return strings.HasPrefix(n, "math.") || strings.HasPrefix(n, "slices.pdqsortOrdered")
	}) {
		t.Errorf("waypoints from which no way leads to what is recorded: %q", names)
	}
}

// TestBreakCycles breaks those of random graphs: of what is left no function
// reaches itself, and each chosen one did.
func TestBreakCycles(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(1, seed))
		n := 1 + r.IntN(30)
		g := &callGraph{fns: make([]int, n), calls: make([][]int32, n), gone: make([]bool, n)}
		for i := range n {
			g.fns[i] = 2 * i
			for range r.IntN(4) {
				g.calls[i] = append(g.calls[i], int32(r.IntN(n)))
			}
			slices.Sort(g.calls[i])
			g.calls[i] = slices.Compact(g.calls[i])
		}
		chosen := g.breakCycles()
		gone := map[int32]bool{}
		for _, f := range chosen {
			gone[int32(f/2)] = true
		}
		cyclic := func() bool {
			for i := range int32(n) {
				if g.reaches(i, i, gone, map[int32]bool{}) {
					return true
				}
			}
			return false
		}
		if cyclic() {
			t.Fatalf("seed %d: %v without %v has a cycle", seed, g.calls, chosen)
		}
		if len(chosen) == 0 {
			continue
		}
		last := int32(chosen[r.IntN(len(chosen))] / 2)
		clear(gone)
		if !g.reaches(last, last, gone, map[int32]bool{}) {
			t.Fatalf("seed %d: %v: %d is on no cycle", seed, g.calls, last)
		}
	}
}

// reaches tells if calls lead from one function to another, none of which is gone.
func (g *callGraph) reaches(from, to int32, gone, seen map[int32]bool) bool {
	if gone[from] {
		return false
	}
	for _, t := range g.calls[from] {
		if t == to && !gone[t] {
			return true
		}
		if !seen[t] {
			seen[t] = true
			if g.reaches(t, to, gone, seen) {
				return true
			}
		}
	}
	return false
}
