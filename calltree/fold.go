package calltree

import (
	"fmt"

	"tracerag/trace"
)

// folded counts subtrees that stand next to each other and are left out.
type folded struct {
	nodes     int
	calls     int64
	flags     trace.Flags // those that say how far the calls are to be believed
	functions map[string]bool
}

func (f *folded) add(nodes []*Node) {
	if f.functions == nil {
		f.functions = map[string]bool{}
	}
	for _, n := range nodes {
		f.nodes++
		f.calls += n.Calls
		f.flags |= n.Flags & (trace.Floor | trace.Approximate)
		f.functions[n.Func.Name] = true
	}
}

// mark is what stands in their place: "[310 calls of 12 functions folded]".
func (f *folded) mark(sampled bool) string {
	calls := "calls"
	switch {
	case sampled:
		calls = "samples"
	case f.calls == 1 && f.flags == 0:
		calls = "call"
	}
	functions := "functions"
	if len(f.functions) == 1 {
		functions = "function"
	}
	if f.calls == 0 && f.flags == 0 {
		return fmt.Sprintf("[%d %s folded]", len(f.functions), functions) // nothing ran, see [Of]
	}
	return fmt.Sprintf("[%s %s of %d %s folded]", number(f.calls, f.flags), calls, len(f.functions), functions)
}

// folds is the predicate of a view over the entries of a flat tree, or nil.
func (f *flat) folds(fold func(*Node) bool) func(i int) bool {
	if fold == nil {
		return nil
	}
	return func(i int) bool { return fold(f.nodes[i]) }
}
