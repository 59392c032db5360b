package rebuild

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzLines holds files with marks against what they were made of: every name is on the line and in the column where it was,
// what type-checks does so after it, and what the program carries is what was meant.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"package p", "package p;func f(){}", "package p\nfunc f() int { for {} }\nfunc g() int { L: if true { goto L }; switch { default: return 1 }}",
		"package p\nfunc f(a, b chan int) (x int) {\n\tselect {\n\tcase a<-1:\n\tcase x = <-b: x++\n\t}\nL: M: for range 3 { if x==1 {continue M}; break L }\n\tswitch x { case 1: fallthrough; case 2: default: }\n\treturn func() int { panic(1) }()\n}",
		"package p\nfunc f(a bool) int { if a { return 1 } else if !a && f(a)==1 { panic(\n1) } else { return f(\ntrue) } ; return 2 }\nvar x = func() { defer f(false); go f(\nf(true)==1) }",
		"package p\ntype T[K any] struct{}\nfunc (*T[K]) m() (x K) { switch any(x).(type) { case int: goto L }\nL: return }\nfunc len() {}\nfunc g() { switch { case len == nil: f: for { break f } } }",
	} {
		f.Add([]byte(s))
	}
	more, _ := filepath.Glob(filepath.Join("testdata", "*.txt"))
	own, _ := filepath.Glob("*.go")
	for _, name := range append(own, more...) {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain := token.NewFileSet()
		before, err := parser.ParseFile(plain, "a.go", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || strings.Contains(string(text), "//line") || strings.Contains(string(text), "/*line") {
			return
		}
		call := namesFor([][]byte{text})
		l := newLiner("p", call, len(text)%2 == 1)
		l.know(before)
		got, err := rewrite("a.go", text, call, len(text)%3 == 0, l, true)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		after, err := parser.ParseFile(fset, "a.go", got, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		// Statements that set marks are not of the file.
		ast.Inspect(after, func(n ast.Node) bool {
			if s, ok := n.(*ast.IfStmt); ok {
				if b, ok := s.Cond.(*ast.BinaryExpr); ok {
					if i, ok := b.X.(*ast.IndexExpr); ok {
						if sel, ok := i.X.(*ast.SelectorExpr); ok {
							if id, ok := sel.X.(*ast.Ident); ok && id.Name == l.names.marks {
								s.Cond, s.Body = &ast.BasicLit{}, &ast.BlockStmt{}
							}
						}
					}
				}
			}
			return true
		})
		a, b := lines(plain, before, ""), lines(fset, after, call.local)
		if len(b) < len(a) {
			t.Fatalf("%d functions and names, %d of them are left", len(a), len(b))
		}
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("%v became %v\n%s", a[i], b[i], got)
			}
		}
		if err := check(text); err == nil {
			if err := check(got); err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
		}
		says, err := l.book.describe()
		if err != nil {
			t.Fatal(err)
		}
		back, err := readBook(says)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*back, l.book) {
			t.Errorf("%+v became\n%+v", l.book, *back)
		}
	})
}

// check type-checks a file without imports.
func check(text []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "a.go", text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	config := types.Config{Importer: none{}, GoVersion: "go1.26"}
	_, err = config.Check("p", fset, []*ast.File{file}, nil)
	return err
}

type none struct{}

func (none) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return nil, errors.New("nothing is imported")
}

// FuzzReadBook: no description, however damaged, is more than an error.
func FuzzReadBook(f *testing.F) {
	l := newLiner("p", namesFor(nil), false)
	if _, err := rewrite("a.go", []byte("package p\nfunc f() { for range f { f(); g() } }"), names{enter: "E", body: "B"}, false, l, true); err != nil {
		f.Fatal(err)
	}
	says, err := l.book.describe()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(says)
	f.Fuzz(func(t *testing.T, says []byte) {
		b, err := readBook(says)
		if err != nil {
			return
		}
		p := newRanLines(b, make([]byte, max(min(b.marks, 1<<16), 0)))
		for i := range b.funcs {
			if b.funcs[i].kind == loop {
				p.give(i, true)
			}
		}
		for i := range b.funcs {
			linesOf(p.states(i, []int{1}, false, true))
		}
	})
}
