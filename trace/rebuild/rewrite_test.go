package rebuild

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRewrite holds rewritten files against what they were made of: they parse, and every name is on the line and in the
// column where it was.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{"package p", "package p;func f(){}", "package p // c\n//go:nosplit\nfunc f() {}\n", "package p\nvar f = func() { for range g { } }\n", "package p\r\nfunc (T[K]) m() {\r\n}"} {
		f.Add([]byte(s))
	}
	seeds, _ := filepath.Glob("*.go")
	more, _ := filepath.Glob(filepath.Join("testdata", "*.txt"))
	for _, name := range append(seeds, more...) {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain := token.NewFileSet()
		before, err := parser.ParseFile(plain, "a.go", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || bytes.Contains(text, []byte("//line")) || bytes.Contains(text, []byte("/*line")) {
			return
		}
		call := namesFor([][]byte{text})
		got, err := rewrite("a.go", text, call, true)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		after, err := parser.ParseFile(fset, "a.go", got, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		a, b := lines(plain, before, ""), lines(fset, after, call.enter)
		if len(b) < len(a) {
			t.Fatalf("%d functions and names, %d of them are left", len(a), len(b))
		}
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("%v became %v\n%s", a[i], b[i], got)
			}
		}
	})
}

type named struct {
	name         string
	line, column int
}

// lines are the names of a file in their order, but for those that were inserted.
func lines(fset *token.FileSet, file *ast.File, inserted string) (out []named) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Ident:
			if inserted == "" || n.Name != inserted && n.Name != "_tracerag_body"+inserted[len("_tracerag_enter"):] {
				p := fset.Position(n.Pos())
				out = append(out, named{n.Name, p.Line, p.Column})
			}
		}
		return true
	})
	return out
}

// TestFit: what is not rewritten.
func TestFit(t *testing.T) {
	text := "package p\n\n//go:nosplit\nfunc a() { func() {}() }\n\n//go:noinline\nfunc b() {}\n\nfunc c()\n\nfunc d() { for range []int{} {}; for range d {} }\n"
	want := "package p; import _ \"unsafe\"/*line :1:10*/\n\n//go:nosplit\nfunc a() { func() {E();/*line :4:20*/}() }\n\n//go:noinline\nfunc b() {E();/*line :7:11*/}\n\nfunc c()\n\n" +
		"func d() {E();/*line :11:11*/ for range []int{} {}; for range d {B();/*line :11:47*/} }\n" +
		"\n//go:linkname E runtime.tracerag_enter\nfunc E()\n\n//go:linkname B runtime.tracerag_body\nfunc B()\n"
	if got, err := rewrite("p.go", []byte(text), names{"E", "B"}, true); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestNames: the recorder's names are none of the package's.
func TestNames(t *testing.T) {
	if got := namesFor([][]byte{[]byte("var _tracerag_body_ int"), []byte("_tracerag_enter")}); got.enter != "_tracerag_enter__" {
		t.Error(got)
	}
}

// TestArguments: long lines of arguments are handed on in a file, as the go command does.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-p", "a\\b\nc", string(bytes.Repeat([]byte("x"), 40<<10))}
	short, err := shorten(args, dir)
	if err != nil || len(short) != 1 {
		t.Fatal(short, err)
	}
	back, err := expand(short)
	if err != nil || len(back) != 3 || back[1] != args[1] || back[2] != args[2] {
		t.Errorf("%q %v", back[:2], err)
	}
}
