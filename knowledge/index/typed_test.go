package index_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
)

// TestTypedCalls takes in the calls of package code/calls, of two modules, and after changes those that one
// gets that starts afresh.
func TestTypedCalls(t *testing.T) {
	r := newRepo(t)
	r.write("app.go", first+"\nvar global = Greet(\"global\")\n\nvar _ = Greet(\"blank\")\n\nconst _ = 1\n\nfunc _() { Greet(\"y\") }\n")
	r.write("app_test.go", "package app\n\nimport \"testing\"\n\nfunc TestGreet(t *testing.T) { Greet(\"t\") }\n")
	r.write("nested/go.mod", "module example.com/nested\n\ngo 1.26\n")
	r.write("nested/n.go", "package nested\n\ntype I interface{ Do() }\n\ntype T struct{}\n\nfunc (T) Do() {}\n\nfunc Use(i I) { i.Do() }\n\nfunc All() { Use(T{}) }\n")
	r.write("broken/b.go", "package broken\n\nfunc Wrong() int { return \"x\" }\n")
	r.commit("Begin")
	s := open(t)
	o := index.Options{Calls: index.TypedCalls}
	got := update(t, s, r.dir, o)
	if !got.CallsMade || !strings.Contains(strings.Join(got.CallGaps, "\n"), "broken") {
		t.Errorf("calls: %v, gaps %q", got.CallsMade, got.CallGaps)
	}
	callers := func(name string) string {
		t.Helper()
		d, err := s.Named(t.Context(), []string{name}, nil)
		if err != nil || len(d) != 1 {
			t.Fatalf("%s: %v, %v", name, d, err)
		}
		edges, err := s.Callers(t.Context(), []int64{d[0].ID})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range edges {
			by, _ := s.Decls(t.Context(), []int64{e.Caller})
			kind := map[knowledge.EdgeKind]string{knowledge.Static: "static", knowledge.Interface: "interface"}[e.Kind]
			out = append(out, kind+" "+by[0].Symbol())
		}
		return strings.Join(out, ", ")
	}
	if c := callers("Greet"); !strings.Contains(c, "static (*Speaker).Say") || !strings.Contains(c, "static global") || !strings.Contains(c, "static TestGreet") || !strings.Contains(c, "static init#2") {
		t.Errorf("callers of Greet: %s", c)
	}
	if c := callers("T.Do"); c != "interface Use" {
		t.Errorf("callers of T.Do: %s", c)
	}
	sameAsFresh(t, s, r.dir, o)

	r.write("nested/n.go", "package nested\n\ntype I interface{ Do() }\n\ntype T struct{}\n\nfunc (T) Do() {}\n\ntype U struct{}\n\nfunc (*U) Do() {}\n\nfunc Use(i I) { i.Do() }\n\nfunc All() { Use(T{}); Use(&U{}) }\n")
	if err := os.Rename(filepath.Join(r.dir, "app.go"), filepath.Join(r.dir, "renamed.go")); err != nil {
		t.Fatal(err)
	}
	if got = update(t, s, r.dir, o); !got.CallsMade {
		t.Errorf("after a change: %+v", got)
	}
	if c := callers("(*U).Do"); c != "interface Use" {
		t.Errorf("callers of (*U).Do: %s", c)
	}
	sameAsFresh(t, s, r.dir, o)
}
