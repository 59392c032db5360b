package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
)

// TestCallers has the calls of functions and of variables' initialisers in a store, of the
// repository's module and a nested one.
func TestCallers(t *testing.T) {
	r := newRepo(t)
	r.write("go.mod", "module example.com/app\n\ngo 1.23\n\nrequire example.com/nested v0.0.0\n\nreplace example.com/nested => ./nested\n")
	r.write("app.go", "package app\n\nimport \"example.com/nested\"\n\nvar _ = f()\n\nfunc _() { f() }\n\nfunc f() int { return g(nested.F) }\n\nfunc g(h func() int) int { return h() }\n\nfunc wrong() { missing() }\n")
	r.write("nested/go.mod", "module example.com/nested\n\ngo 1.23\n")
	r.write("nested/n.go", "package nested\n\nfunc F() int { return f() }\n\nfunc f() int { return 1 }\n")
	r.commit("Begin")
	s := open(t)
	got := update(t, s, r.dir, index.Options{Calls: index.TypedCalls})
	if len(got.CallGaps) != 1 || !strings.HasPrefix(got.CallGaps[0], "app.go: wrong: ") {
		t.Errorf("calls that are not known: %q", got.CallGaps)
	}
	ctx := t.Context()
	all, err := s.Named(ctx, []string{"f", "g", "F", "_", "wrong"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	names := map[int64]string{}
	for _, d := range all {
		ids = append(ids, d.ID)
		names[d.ID] = d.Path + " " + d.Kind.String() + " " + d.Symbol()
	}
	edges, err := s.Callees(ctx, ids)
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Callers(ctx, ids)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range append(edges, in...) {
		caller := names[e.Caller]
		if caller == "" {
			ds, err := s.Decls(ctx, []int64{e.Caller})
			if err != nil || len(ds) != 1 {
				t.Fatal(err)
			}
			caller = ds[0].Path + " " + ds[0].Kind.String() + " " + ds[0].Symbol()
		}
		kind := "static"
		if e.Kind == knowledge.Interface {
			kind = "possible"
		}
		lines = append(lines, fmt.Sprintf("%s %d %s %s", caller, e.Site, kind, names[e.Callee]))
	}
	slices.Sort(lines)
	want := []string{
		"app.go func f 0 static app.go func g",
		"app.go func g 0 possible nested/n.go func F",
		"app.go var _ 0 static app.go func f",
		"nested/n.go func F 0 static nested/n.go func f",
	}
	if lines = slices.Compact(lines); !slices.Equal(lines, want) {
		t.Errorf("calls\n%s, want\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
