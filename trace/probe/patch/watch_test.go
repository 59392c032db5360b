package patch_test

import (
	"cmp"
	"slices"
	"testing"

	"tracerag/trace/probe/patch"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
)

// TestPlanIsSorted: a Watch looks for a function's hooks and marks in their order.
func TestPlanIsSorted(t *testing.T) {
	f, c := patchtest.Open(t, "tablecat")
	p, err := patch.Make(f, c, func(string) bool { return true }, patch.Options{Inlined: true, Lines: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Hooks) == 0 || !slices.IsSortedFunc(p.Hooks, func(a, b plan.Hook) int { return cmp.Compare(a.Func, b.Func) }) {
		t.Errorf("%d hooks are not sorted by function", len(p.Hooks))
	}
	if len(p.Marks) < 2 || !slices.IsSortedFunc(p.Marks[1:], func(a, b plan.BlockMark) int { return cmp.Compare(a.Func, b.Func) }) {
		t.Errorf("%d marks are not sorted by function", len(p.Marks))
	}
}
