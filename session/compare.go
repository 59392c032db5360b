package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracerag/calltree"
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

// Compare sets the trees of two views side by side, less what is ignored.
func Compare(a, b *View, i Ignored) *calltree.Diff {
	return calltree.Compare(i.without(a.Tree), i.without(b.Tree), i.what)
}

func (i Ignored) without(t *calltree.Tree) *calltree.Tree {
	if len(i.drop) == 0 {
		return t
	}
	return t.Without(func(n *calltree.Node) bool {
		return slices.ContainsFunc(i.drop, func(drop func(*calltree.Node) bool) bool { return drop(n) })
	})
}
