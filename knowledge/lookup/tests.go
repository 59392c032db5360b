package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tracerag/code"
	"tracerag/knowledge"
)

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
	all := func(knowledge.Edge) bool { return true }
	found := 0
	return out, Reaching(ctx, l.Store, u.ID, all, func(tests []knowledge.Decl, steps int) (more bool, err error) {
		tests = slices.DeleteFunc(tests, func(d knowledge.Decl) bool { return ran[d.Package+" "+d.Name] })
		units, err := l.Units(ctx, tests)
		if err != nil {
			return false, err
		}
		for _, t := range units[:min(len(units), limit-found)] {
			out = append(out, Test{Unit: t, Steps: steps})
			found++
		}
		return found < limit, nil
	})
}

// How far callers are followed to tests, and how many functions are looked at.
const (
	maxSteps   = 6
	maxVisited = 3000
)

// Reaching calls use with the tests from which calls lead to a declaration: those of one step, then
// those of two and so on, until it wants no more. Calls are followed that follow is true of.
func Reaching(ctx context.Context, store knowledge.Reader, id int64, follow func(knowledge.Edge) bool,
	use func(tests []knowledge.Decl, steps int) (more bool, err error)) error {
	seen := map[int64]bool{id: true}
	level := []int64{id}
	for step := 1; step <= maxSteps && len(level) > 0 && len(seen) < maxVisited; step++ {
		edges, err := store.Callers(ctx, level)
		if err != nil {
			return err
		}
		level = nil
		for _, e := range edges {
			if !seen[e.Caller] && follow(e) {
				seen[e.Caller] = true
				level = append(level, e.Caller)
			}
		}
		decls, err := store.Decls(ctx, level)
		if err != nil {
			return err
		}
		more, err := use(slices.DeleteFunc(decls, func(d knowledge.Decl) bool { return !IsTest(&d) }), step)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// IsTest reports whether go test runs a declaration as a test: a function of a _test.go file whose name
// begins as the go command has it. No signature is looked at: with a wrong one no test of the
// package runs at all.
func IsTest(d *knowledge.Decl) bool {
	rest, ok := strings.CutPrefix(d.Name, "Test")
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && d.Test && d.Kind == code.Func && !d.Testdata && !d.Vendored && !unicode.IsLower(first) && d.Name != "TestMain"
}
