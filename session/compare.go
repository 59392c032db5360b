package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/rank"
	"tracerag/trace"
)

// OtherPackages is what to say of two runs that did not record the same packages.
const OtherPackages = "the runs recorded different packages; a missing call may just be unrecorded"

// Ignored is what a comparison of two runs leaves out. The zero value leaves out nothing.
type Ignored struct {
	what calltree.Ignore
	drop []func(*calltree.Node) bool
}

// Ignore understands words: counts, order, goroutines, or patterns of packages, which
// match understands.
func Ignore(words []string, match func(pattern string) (func(pkg string) bool, error)) (Ignored, error) {
	var out Ignored
	for _, w := range words {
		switch w {
		case "counts":
			out.what |= calltree.IgnoreCounts
		case "order":
			out.what |= calltree.IgnoreOrder
		case "goroutines":
			out.drop = append(out.drop, func(n *calltree.Node) bool { return n.Root == trace.RootGoroutine || n.Root == trace.RootCallback })
		default:
			matches, err := match(w)
			if !strings.ContainsAny(w, "./") {
				err = errors.New("must be counts, order, goroutines or a package pattern (example.com/log/...)")
			}
			if err != nil {
				return out, fmt.Errorf("ignore=%s: %w", w, err)
			}
			out.drop = append(out.drop, func(n *calltree.Node) bool { return matches(n.Func.Package) })
		}
	}
	return out, nil
}

// Compare sets the trees of two views side by side, which were opened to be compared,
// less what is ignored. The places where they differ are in the order in which they
// matter, to the question if there is one.
func (s *Session) Compare(a, b *View, i Ignored, question string) *calltree.Diff {
	c := calltree.Comparison{Ignore: i.what}
	if strings.TrimSpace(question) != "" {
		c.Relevance = Relevance(s.Rank(question, []*View{a, b}))
	}
	return compare(side{a.Trace, a.Tree, a.unpruned, a.focus}, side{b.Trace, b.Tree, b.unpruned, b.focus}, c, i)
}

// Relevance is how much functions have to do with the question of a ranking.
func Relevance(r *rank.Ranking) func(*trace.Function) float64 {
	return func(f *trace.Function) float64 {
		score, _ := r.Score(*f)
		return score
	}
}

// CompareRuns is [Session.Compare] for two runs, or with a focus for a part of them, which
// need be in one of them only. Relevance is nil if nothing is asked.
func CompareRuns(a, b *Run, focus string, relevance func(*trace.Function) float64) (*calltree.Diff, error) {
	if strings.HasPrefix(focus, "#") {
		return nil, &HandleError{Handle: focus}
	}
	var sides [2]side
	var missing error
	for i, r := range []*Run{a, b} {
		sides[i] = side{tr: r.Trace, tree: r.Tree, unpruned: r.Unpruned}
		if sides[i].unpruned == nil {
			sides[i].unpruned = r.Tree
		}
		if focus == "" {
			continue
		}
		sides[i].focus = focused(sides[i].unpruned, focus)
		tree, err := r.Tree.Focus(focus)
		switch {
		case err == nil:
			sides[i].tree = tree
		case missing != nil:
			return nil, err
		default:
			missing = err
			sides[i].tree = &calltree.Tree{Sampled: r.Tree.Sampled}
		}
	}
	return compare(sides[0], sides[1], calltree.Comparison{Relevance: relevance}, Ignored{}), nil
}

// HandleError says that two runs cannot be narrowed to a handle, which is of one.
type HandleError struct{ Handle string }

func (e *HandleError) Error() string {
	return fmt.Sprintf("focus=%s: a handle is one trace's, and here are two: give the function's name", e.Handle)
}

// side is one of the two runs of a comparison.
type side struct {
	tr       *trace.Trace
	tree     *calltree.Tree // pruned and focused
	unpruned *calltree.Tree // nil: tree is all there is
	focus    map[int]bool   // handles; nil: all
}

func compare(a, b side, c calltree.Comparison, i Ignored) *calltree.Diff {
	if a.unpruned != nil && b.unpruned != nil {
		a.tree, b.tree = calltree.Restored(a.tree, b.tree, a.unpruned, b.unpruned, func(x, y *calltree.Node) bool {
			return a.focus == nil && b.focus == nil || a.focus[x.ID] || b.focus[y.ID]
		})
	}
	c.RecordsA, c.RecordsB = records(a.tr, b.tr), records(b.tr, a.tr)
	return c.Of(i.without(a.tree), i.without(b.tree))
}

// focused returns the handles of a tree that a focus is on.
func focused(t *calltree.Tree, patterns ...string) map[int]bool {
	in := map[int]bool{}
	for _, p := range patterns {
		nodes, _ := t.Find(p) // one that is not found adds nothing
		below := calltree.Tree{Roots: nodes}
		below.Walk(func(n *calltree.Node, _ int) bool {
			in[n.ID] = true
			return true
		})
	}
	return in
}

// records returns which functions of the other run a trace can have: those of packages
// that it recorded, that could be watched to the end. Nil: all.
func records(tr, other *trace.Trace) func(*trace.Function) bool {
	if tr.Sampled && !other.Sampled {
		return func(*trace.Function) bool { return false }
	}
	blind := map[string]bool{}
	for _, l := range tr.Losses {
		if l.Function != "" && (l.Kind == trace.LossNotHooked && l.Count == 0 || l.Kind == trace.LossFloor) {
			blind[l.Function] = true
		}
	}
	var packages map[string]bool
	if !tr.SamePackages(other) {
		packages = map[string]bool{}
		for i := range tr.Functions {
			packages[tr.Functions[i].Package] = true
		}
	}
	if len(blind) == 0 && packages == nil {
		return nil
	}
	return func(f *trace.Function) bool {
		return !blind[f.Name] && (packages == nil || packages[f.Package])
	}
}

func (i Ignored) without(t *calltree.Tree) *calltree.Tree {
	if len(i.drop) == 0 {
		return t
	}
	return t.Without(func(n *calltree.Node) bool {
		return slices.ContainsFunc(i.drop, func(drop func(*calltree.Node) bool) bool { return drop(n) })
	})
}
