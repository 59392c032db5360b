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

// TestCallsOfFilesThatAreNotListed has generated code that git ignores and the go command builds, and a
// link that leads out of the repository: calls of the other files are kept.
func TestCallsOfFilesThatAreNotListed(t *testing.T) {
	r := newRepo(t)
	r.write(".gitignore", "generated.go\n")
	r.write("app.go", "package app\n\nfunc A() { B(); Generated(); Linked() }\n\nfunc B() {}\n")
	r.write("generated.go", "package app\n\nfunc Generated() { B() }\n")
	outside := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(outside, []byte("package app\n\nfunc Linked() { B() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(r.dir, "linked.go")); err != nil {
		t.Fatal(err)
	}
	r.commit("Begin")
	s := open(t)
	o := index.Options{Calls: index.TypedCalls}
	got := update(t, s, r.dir, o)
	n, err := s.Counts(t.Context(), got.Repository.ID)
	if err != nil || n.Static != 1 {
		t.Errorf("%d calls, want that of A to B alone: %v", n.Static, err)
	}
	if gaps := strings.Join(got.CallGaps, "\n"); !strings.Contains(gaps, "generated.go: it is not in the index") || !strings.Contains(gaps, "linked.go: it is not in the index") {
		t.Errorf("gaps: %s", gaps)
	}
	sameAsFresh(t, s, r.dir, o)
}

// TestCallsComeBack takes a file away, updates without calls as reading commands do, and brings it
// back: the calls are made again, though the code is what they were made from.
func TestCallsComeBack(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", "package app\n\nfunc A() { B() }\n")
	r.write("b.go", "package app\n\nfunc B() {}\n")
	r.commit("Begin")
	s := open(t)
	asked := 0
	o := index.Options{Calls: callsByName(&asked)}
	update(t, s, r.dir, o)
	r.remove("b.go")
	if got := update(t, s, r.dir, index.Options{}); got.Repository.Calls != knowledge.OldCalls {
		t.Errorf("without a file the calls are %v", got.Repository.Calls)
	}
	r.write("b.go", "package app\n\nfunc B() {}\n")
	if got := update(t, s, r.dir, index.Options{}); got.Repository.Calls != knowledge.OldCalls {
		t.Errorf("with the file again, before calls are made, the calls are %v", got.Repository.Calls)
	}
	if got := update(t, s, r.dir, o); got.Repository.Calls != knowledge.FreshCalls || asked != 2 {
		t.Errorf("calls are %v, and were made %d times", got.Repository.Calls, asked)
	}
	sameAsFresh(t, s, r.dir, o)
}

// TestCallsOfModulesThatCome makes the calls again when a module that was missing is on the
// machine, or go.sum alone changed, and then they are fresh.
func TestCallsOfModulesThatCome(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("GOMODCACHE", cache)
	r := newRepo(t)
	r.write("a.go", "package app\n\nfunc A() {}\n")
	r.write("go.sum", "example.com/Lib v1.0.0 h1:x=\nexample.com/Lib v1.0.0/go.mod h1:y=\n")
	r.commit("Begin")
	s := open(t)
	asked := 0
	o := index.Options{Calls: callsByName(&asked)}
	for i, change := range []func(){
		func() {},
		func() {
			if err := os.MkdirAll(filepath.Join(cache, "example.com", "!lib@v1.0.0"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		func() { r.write("go.sum", "example.com/Lib v1.0.0 h1:z=\n") },
	} {
		change()
		for range 2 {
			if got := update(t, s, r.dir, o); got.Repository.Calls != knowledge.FreshCalls || asked != i+1 {
				t.Errorf("change %d: calls are %v, and were made %d times", i, got.Repository.Calls, asked)
			}
		}
	}
	r.write("go.sum", "")
	r.write("a.go", "package app\n\n// A is said.\nfunc A() {}\n")
	r.age("a.go") // else it is read again, since its time can't tell
	update(t, s, r.dir, index.Options{})
	r.write("go.sum", "example.com/Lib v1.0.0 h1:z=\n")
	if got := update(t, s, r.dir, o); got.Repository.Calls != knowledge.FreshCalls || asked != 3 {
		t.Errorf("with the go.sum of before: calls are %v, and were made %d times", got.Repository.Calls, asked)
	}
	sameAsFresh(t, s, r.dir, o)
}
