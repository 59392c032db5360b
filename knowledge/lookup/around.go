package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// Call is a function that calls another one, or is called by it.
type Call struct {
	*Unit
	Kinds []knowledge.EdgeKind // how it is known, ascending
	Lines []int                // of the calls in the caller as it is now, ascending; nil if they are not known
	Count int64                // calls in recorded runs
}

// How says in words how a call is known: "static, ran x12".
func (c *Call) How() string {
	var how []string
	for _, k := range c.Kinds {
		switch k {
		case knowledge.Static:
			how = append(how, "static")
		case knowledge.Interface:
			how = append(how, "interface")
		case knowledge.Ran:
			how = append(how, fmt.Sprintf("ran x%d", c.Count))
		}
	}
	return strings.Join(how, ", ")
}

// CallsKnown says what an empty list of calls in a repository does not prove; "" if it
// is complete.
func CallsKnown(r *knowledge.Repository) string {
	switch r.Calls {
	case knowledge.NoCalls:
		return "calls in the source were not indexed: only those of recorded runs are known"
	case knowledge.OldCalls:
		return "calls in the source are those of an earlier state of the files"
	}
	return ""
}

// Callers returns what calls a declaration, what ran most often first.
func (l *Lookup) Callers(ctx context.Context, u *Unit) ([]Call, error) {
	edges, err := l.Store.Callers(ctx, []int64{u.ID})
	if err != nil {
		return nil, err
	}
	return l.calls(ctx, edges, func(e knowledge.Edge) int64 { return e.Caller }, func(c *Unit) *Unit { return c })
}

// Callees returns what a declaration calls, in the order of its calls.
func (l *Lookup) Callees(ctx context.Context, u *Unit) ([]Call, error) {
	edges, err := l.Store.Callees(ctx, []int64{u.ID})
	if err != nil {
		return nil, err
	}
	calls, err := l.calls(ctx, edges, func(e knowledge.Edge) int64 { return e.Callee }, func(*Unit) *Unit { return u })
	first := func(c Call) int {
		if len(c.Lines) == 0 {
			return 1 << 30
		}
		return c.Lines[0]
	}
	slices.SortStableFunc(calls, func(a, b Call) int { return cmp.Compare(first(a), first(b)) })
	return calls, err
}

// calls gathers edges by the unit at their other end.
func (l *Lookup) calls(ctx context.Context, edges []knowledge.Edge, other func(knowledge.Edge) int64, caller func(*Unit) *Unit) ([]Call, error) {
	type gathered struct {
		kinds map[knowledge.EdgeKind]bool
		sites map[int]bool
		count int64
	}
	by := map[int64]*gathered{}
	var ids []int64
	for _, e := range edges {
		id := other(e)
		g := by[id]
		if g == nil {
			g = &gathered{map[knowledge.EdgeKind]bool{}, map[int]bool{}, 0}
			by[id] = g
			ids = append(ids, id)
		}
		g.kinds[e.Kind] = true
		if e.Kind == knowledge.Ran {
			g.count += e.Count
		} else {
			g.sites[e.Site] = true
		}
	}
	decls, err := l.Store.Decls(ctx, ids)
	if err != nil {
		return nil, err
	}
	units, err := l.Units(ctx, decls)
	if err != nil {
		return nil, err
	}
	var out []Call
	for _, u := range units {
		g := by[u.ID]
		c := Call{Unit: u, Count: g.count}
		for _, k := range []knowledge.EdgeKind{knowledge.Static, knowledge.Interface, knowledge.Ran} {
			if g.kinds[k] {
				c.Kinds = append(c.Kinds, k)
			}
		}
		c.Lines = lines(caller(u), g.sites)
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Call) int { return cmp.Compare(b.Count, a.Count) })
	return out, nil
}

// lines are the lines of some call sites. Of a file that was changed nothing is sure.
func lines(u *Unit, sites map[int]bool) (out []int) {
	if u.Problem != "" || u.Changed || len(sites) == 0 {
		return nil
	}
	d := u.Decl.Decl
	d.Span = code.Span{End: len(u.Text)}
	all, err := code.Sites([]byte(u.Text), d)
	if err != nil {
		return nil
	}
	for i, s := range all {
		if sites[i] && !slices.Contains(out, s.Line) {
			out = append(out, s.Line)
		}
	}
	slices.Sort(out)
	return out
}

// Test is a test that executes a declaration, or may.
type Test struct {
	*Unit                // nil if the test's source is not in the store
	Run   *knowledge.Run // that executed it; nil: calls in the source lead there
	Steps int            // how many calls lead there, where no run is known
}

// Distance says in words how far a test is from what it may run.
func (t *Test) Distance() string {
	if t.Steps > 1 {
		return fmt.Sprintf("%d calls away", t.Steps)
	}
	return "calls it"
}

// How far callers are followed to tests, and how many functions are looked at.
const (
	maxSteps   = 6
	maxVisited = 3000
)

// Tests returns the saved runs that executed a declaration, and then up to limit tests from
// which calls in the source lead to it, the nearest first. What can call it need not do so.
func (l *Lookup) Tests(ctx context.Context, u *Unit, limit int) ([]Test, error) {
	runs, err := l.Store.Runs(ctx, []int64{u.ID})
	if err != nil {
		return nil, err
	}
	var out []Test
	ran := map[string]bool{} // package and name
	for i := range runs {
		out = append(out, Test{Run: &runs[i]})
		name, _, _ := strings.Cut(runs[i].Test, "/")
		ran[runs[i].Package+" "+name] = true
	}
	seen := map[int64]bool{u.ID: true}
	level, found := []int64{u.ID}, 0
	for step := 1; step <= maxSteps && len(level) > 0 && len(seen) < maxVisited && found < limit; step++ {
		edges, err := l.Store.Callers(ctx, level)
		if err != nil {
			return nil, err
		}
		level = nil
		for _, e := range edges {
			if !seen[e.Caller] {
				seen[e.Caller] = true
				level = append(level, e.Caller)
			}
		}
		decls, err := l.Store.Decls(ctx, level)
		if err != nil {
			return nil, err
		}
		tests := slices.DeleteFunc(decls, func(d knowledge.Decl) bool { return !IsTest(&d) || ran[d.Package+" "+d.Name] })
		units, err := l.Units(ctx, tests)
		if err != nil {
			return nil, err
		}
		for _, t := range units[:min(len(units), limit-found)] {
			out = append(out, Test{Unit: t, Steps: step})
			found++
		}
	}
	return out, nil
}

// IsTest reports whether go test runs a declaration as a test.
func IsTest(d *knowledge.Decl) bool {
	rest, ok := strings.CutPrefix(d.Name, "Test")
	return ok && d.Test && d.Kind == code.Func && !d.Testdata && !d.Vendored && (rest == "" || rest[0] < 'a' || rest[0] > 'z') && d.Name != "TestMain"
}
