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
