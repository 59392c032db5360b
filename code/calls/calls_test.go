package calls_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"tracerag/code"
	"tracerag/code/calls"
)

var update = flag.Bool("update", false, "write the files want of testdata anew")

// unpack writes the files of an archive into a new directory.
func unpack(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range a.Files {
		write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, c calls.Config) *calls.Graph {
	t.Helper()
	g, err := calls.Load(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// describe writes a graph with the text from each site to the end of its line.
func describe(t *testing.T, root string, g *calls.Graph) string {
	var b strings.Builder
	for _, p := range g.Packages {
		fmt.Fprintf(&b, "package %s\n", p.Path)
		for _, e := range slices.Concat(p.Static, p.Dynamic) {
			fmt.Fprintf(&b, "%s %s.%s %d %q: %s %s\n", e.Caller.File, e.Caller.Package[strings.LastIndex(e.Caller.Package, "/")+1:], e.Caller.Symbol, e.Site,
				siteText(t, root, e), e.Kind, strings.TrimPrefix(e.Callee.File+" "+e.Callee.Symbol, e.Caller.File+" "))
		}
	}
	for _, gap := range g.AllGaps() {
		fmt.Fprintf(&b, "gap: %s\n", gap)
	}
	return b.String()
}

func siteText(t *testing.T, root string, e calls.Edge) string {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.Caller.File)))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range code.Parse(text).Decls {
		if d.Symbol() != e.Caller.Symbol || d.Kind == code.Type || d.Kind == code.Const || d.Kind == code.Func && d.Name == "_" {
			continue
		}
		sites, err := code.Sites(text, d)
		if err != nil {
			t.Fatal(err)
		}
		s := sites[e.Site]
		if line := 1 + bytes.Count(text[:s.Offset], []byte("\n")); line != s.Line {
			t.Errorf("site %d of %s is on line %d, not %d", e.Site, d.Symbol(), line, s.Line)
		}
		from := text[:s.Offset]
		from = from[max(bytes.LastIndexAny(from, "\n;{ (")+1, 0):]
		return string(from) + string(text[s.Offset:s.Offset+1])
	}
	t.Fatalf("%v is not in its file", e.Caller)
	return ""
}

// TestWant compares the calls of the modules in testdata with those that a person has read.
func TestWant(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
			if want < 0 {
				want = len(a.Files)
				a.Files = append(a.Files, txtar.File{Name: "want"})
			}
			dir := unpack(t, a)
			var got string
			for _, module := range modules(a) {
				g := load(t, calls.Config{Dir: filepath.Join(dir, module), Root: dir, Tests: true, Env: environment()})
				got += describe(t, dir, g)
			}
			if *update {
				a.Files[want].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if w := string(a.Files[want].Data); got != w {
				t.Errorf("got\n%s\nwant\n%s", got, w)
			}
		})
	}
}

func modules(a *txtar.Archive) (dirs []string) {
	for _, f := range a.Files {
		if filepath.Base(f.Name) == "go.mod" {
			dirs = append(dirs, filepath.Dir(f.Name))
		}
	}
	return dirs
}

// environment is the process's, but for the platform that the wanted files are written for.
func environment() []string {
	return append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOFLAGS=", "GOWORK=")
}

// module unpacks an archive of testdata.
func module(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return unpack(t, a)
}

// TestKeys changes a module: rows have other keys if, and only if, they changed, and are those of
// the module loaded from scratch.
func TestKeys(t *testing.T) {
	t.Parallel()
	dir := module(t, "constructs")
	c := calls.Config{Dir: dir, Tests: true, Env: environment()}
	before := load(t, c)
	if again := load(t, c); fmt.Sprint(again) != fmt.Sprint(before) {
		t.Error("loaded twice, the module has other rows")
	}

	change := func(name, old, new string) {
		t.Helper()
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(old)) {
			t.Fatal(name, "lacks", old, err)
		}
		write(t, file, strings.ReplaceAll(string(text), old, new))
	}
	changed := func(g *calls.Graph) (names []string) {
		for i, p := range g.Packages {
			if p.StaticKey != before.Packages[i].StaticKey {
				names = append(names, "static of "+p.Path)
			}
			if p.DynamicKey != before.Packages[i].DynamicKey {
				names = append(names, "dynamic of "+p.Path)
			}
			if same := fmt.Sprint(p.Static) == fmt.Sprint(before.Packages[i].Static); same != (p.StaticKey == before.Packages[i].StaticKey) {
				t.Errorf("%s: equal rows, other key, or the reverse", p.Path)
			}
		}
		return names
	}

	change("direct.go", "{ return add(leaf(), add(1, leaf())) }", "{\n\n\t// Of three.\n\treturn add(\n\t\tleaf(),\n\t\tadd(1,  leaf()),\n\t)\n}")
	if names := changed(load(t, c)); len(names) > 0 {
		t.Errorf("layout changed %q", names)
	}
	change("above/above.go", "other.Leaf()", "other.Leaf() + other.Leaf()")
	if names := changed(load(t, c)); !slices.Equal(names, []string{"static of example.com/m/above"}) {
		t.Errorf("a call more in package above changed %q", names)
	}
	change("m_test.go", "(mock) area()", "(mock) surface()")
	change("m_test.go", "interfaceValue(mock{})", "mock{}.surface()")
	if names := changed(load(t, c)); !slices.Equal(names, []string{"static of example.com/m", "dynamic of example.com/m", "static of example.com/m/above"}) {
		t.Errorf("a candidate less changed %q", names)
	}
}

// TestTestsAreLeftOut loads without test files: nothing in them is a caller or a candidate.
func TestTestsAreLeftOut(t *testing.T) {
	t.Parallel()
	edges := load(t, calls.Config{Dir: module(t, "constructs"), Env: environment()}).Edges()
	if len(edges) == 0 {
		t.Fatal("no edges")
	}
	for _, e := range edges {
		if strings.HasSuffix(e.Caller.File, "_test.go") || strings.HasSuffix(e.Callee.File, "_test.go") {
			t.Errorf("%v", e)
		}
	}
}

// TestNothingIsRun loads a repository that names commands wherever the go command would run
// one, in an environment that would let it write go.mod and download.
func TestNothingIsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	script := filepath.Join(dir, "script")
	write(t, script, "#!/bin/sh\necho $0 \"$@\" >> "+ran+"\nexit 1\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	defer proxy.Close()
	m := filepath.Join(dir, "m")
	mod := "module example.com/m\n\ngo 1.23\n\nrequire (\n\texample.com/withc v0.0.0\n\texample.com/missing v1.0.0\n)\n\n" +
		"replace example.com/withc => ./withc\n"
	sum := "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
	write(t, filepath.Join(m, "go.sum"), "example.com/missing v1.0.0 "+sum+"example.com/missing v1.0.0/go.mod "+sum)
	write(t, filepath.Join(m, "go.mod"), mod)
	write(t, filepath.Join(m, "m.go"), "package main\n\nimport \"example.com/missing\"\n\n//go:generate "+script+"\n\nfunc main() { missing.F() }\n")
	write(t, filepath.Join(m, "p/p.go"), "package p\n\nfunc F() { g() }\n\nfunc g() {}\n")
	n := filepath.Join(dir, "n") // its requirement is missing: -mod=mod would add it
	unchanged := "module example.com/n\n\ngo 1.23\n\nreplace example.com/unlisted => ./unlisted\n"
	write(t, filepath.Join(n, "go.mod"), unchanged)
	write(t, filepath.Join(n, "unlisted/go.mod"), "module example.com/unlisted\n\ngo 1.23\n")
	write(t, filepath.Join(n, "unlisted/u.go"), "package unlisted\n\nfunc F() {}\n")
	write(t, filepath.Join(n, "u/u.go"), "package u\n\nimport \"example.com/unlisted\"\n\nfunc F() { unlisted.F() }\n")
	write(t, filepath.Join(m, "withc/go.mod"), "module example.com/withc\n\ngo 1.23\n")
	write(t, filepath.Join(m, "withc/c.go"), "package withc\n\n// int x;\n// #cgo pkg-config: nothing\nimport \"C\"\n\nvar X = int(C.x)\n")
	write(t, filepath.Join(m, "c/c.go"), "package c\n\nimport \"example.com/withc\"\n\nvar Y = withc.X\n")
	env := append(environment(), "GOFLAGS=-mod=mod", "GOPROXY="+proxy.URL, "GONOSUMDB=*", "GOPACKAGESDRIVER="+script, "CC="+script, "PKG_CONFIG="+script, "CGO_ENABLED=1")
	g := load(t, calls.Config{Dir: m, Env: env})
	load(t, calls.Config{Dir: n, Env: env})
	if n := asked.Load(); n > 0 {
		t.Errorf("it asked the module proxy %d times", n)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran %s", text)
	}
	for file, want := range map[string]string{filepath.Join(m, "go.mod"): mod, filepath.Join(n, "go.mod"): unchanged} {
		if text, _ := os.ReadFile(file); string(text) != want {
			t.Errorf("%s is now %s", file, text)
		}
	}
	if got := fmt.Sprint(g.Edges()); got != "[{static example.com/m/p.F 0 example.com/m/p.g}]" {
		t.Errorf("edges %s", got)
	}
	i := slices.IndexFunc(g.AllGaps(), func(g calls.Gap) bool { return g.Package == "example.com/m" })
	if i < 0 || g.AllGaps()[i].Kind != calls.Missing {
		t.Errorf("the gaps do not name the missing module: %v", g.AllGaps())
	}
}

// TestWholeModule has directories for which the go command lists nothing.
func TestWholeModule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "new/go.mod"), "module example.com/m\n\ngo 1.99\n")
	write(t, filepath.Join(dir, "new/m.go"), "package m\n")
	write(t, filepath.Join(dir, "bad/go.mod"), "nonsense\n")
	write(t, filepath.Join(dir, "bad/m.go"), "package m\n")
	write(t, filepath.Join(dir, "work/go.work"), "go 1.23\n\nuse ./a\n")
	write(t, filepath.Join(dir, "work/a/go.mod"), "module example.com/a\n\ngo 1.23\n")
	write(t, filepath.Join(dir, "work/a/a.go"), "package a\n\nfunc F() { F() }\n")
	write(t, filepath.Join(dir, "work/b/go.mod"), "module example.com/b\n\ngo 1.23\n")
	write(t, filepath.Join(dir, "work/b/b.go"), "package b\n\nfunc F() { F() }\n")
	for name, want := range map[string]string{"new": "1.99", "bad": "nonsense"} {
		if gaps := load(t, calls.Config{Dir: filepath.Join(dir, name), Env: environment()}).AllGaps(); len(gaps) != 1 || !strings.Contains(gaps[0].String(), want) {
			t.Errorf("%s: gaps %v", name, gaps)
		}
	}
	for _, name := range []string{"a", "b"} { // the workspace has one of them
		if edges := load(t, calls.Config{Dir: filepath.Join(dir, "work", name), Root: filepath.Join(dir, "work"), Env: environment()}).Edges(); len(edges) != 1 || edges[0].Caller.File != name+"/"+name+".go" {
			t.Errorf("%s: edges %v", name, edges)
		}
	}
	if _, err := calls.Load(context.Background(), calls.Config{Dir: t.TempDir(), Env: environment()}); err == nil {
		t.Error("a directory without a module gives no error")
	}
}
