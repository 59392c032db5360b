package rebuild

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
		call.bare = redeclares(before)
		got, err := rewrite("a.go", text, call, len(text)%2 == 0 && !call.bare, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		after, err := parser.ParseFile(fset, "a.go", got, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		a, b := lines(plain, before, ""), lines(fset, after, call.local)
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
		case *ast.ValueSpec:
			return inserted == "" || !strings.HasPrefix(n.Names[0].Name, inserted)
		case *ast.IfStmt:
			if set, ok := n.Init.(*ast.AssignStmt); ok && inserted != "" {
				id, ok := set.Lhs[0].(*ast.Ident)
				return !ok || !strings.HasPrefix(id.Name, inserted)
			}
		case *ast.Ident:
			if n.Name != "_" && (inserted == "" || !strings.HasPrefix(n.Name, inserted)) { // what is unnamed gets a name
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
		"\n//go:linkname E runtime.tracerag_enter\nfunc E() uintptr\n\n//go:linkname B runtime.tracerag_body\nfunc B()\n"
	if got, err := rewrite("p.go", []byte(text), names{enter: "E", body: "B"}, false, nil, true); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestUnfit: a directive is for the declaration that follows, as for the compiler: with other comments and lines between them, too. Such a
// function's loops have no calls either, outside of literals.
func TestUnfit(t *testing.T) {
	for text, want := range map[string]bool{
		"//go:nosplit\n\nfunc f() {}":                              true,
		"//go:nosplit\n\n// f is.\nfunc f() {}":                    true,
		"//go:nosplit\n//go:noinline\n/* f */ func f() {}":         true,
		"//go:nosplit\r\n\r\nfunc f() { for range g { } }":         true,
		"//go:nosplit\nvar x int\n\nfunc f() {}":                   false,
		"//go:nosplit\nfunc g()\n\nfunc f() {}":                    false,
		"func g() {\n//go:nosplit\n}\n\nfunc f() {}":               false,
		"// go:nosplit\nfunc f() {}":                               false,
		"func f() { //go:nosplit\n}":                               false,
		"//go:nosplit\n\nfunc f() { _ = func() { for range g {}}}": false, // the literal calls
	} {
		got, err := rewrite("p.go", []byte("package p\n\n"+text+"\n"), names{enter: "E", body: "B"}, false, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(got), "func f()")
		if called := strings.Contains(body, "E()") || strings.Contains(body, "B()"); called == want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestRedeclares: types of the recorder's declarations that a package, or a file, has of its own.
func TestRedeclares(t *testing.T) {
	for text, want := range map[string]bool{
		"type string []byte": true, "type (a = int; uintptr = a)": true, "var a, bool int": true, "func int() {}": true, "const uint8 = 1": true,
		"import string \"fmt\"": true, "import \"example.com/string/v2\"": true,
		"import \"strings\"": false, "func (t T) string(int T) { type bool int }": false, "type any int": false, "func f[string any](int string) {}": false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if redeclares(file) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// TestNames: the recorder's names are none of the package's.
// TestMayBeNothing: an initialiser gets no call if the compiler may see that it does nothing. Others do.
func TestMayBeNothing(t *testing.T) {
	for body, want := range map[string]bool{
		"": true, "if tables != 6 { panic(1) }": true, `if runtime.GOOS == "windows" && !test { f() }; if len(name) > 3 {}`: true,
		"f()": false, "if f() {}": false, "if x := 1; x > 0 {}": false, "if a { b() } else { c() }": false, "if a[0] {}": false, "if <-c {}": false, "if *p {}": false, "if a {}; f()": false,
	} {
		text := "package p\n\nfunc init() { " + body + " }\n"
		got, err := rewrite("p.go", []byte(text), names{enter: "E", body: "B"}, false, nil, false)
		if err != nil || strings.Contains(string(got), "E()") == want {
			t.Errorf("%q became %s, %v", body, got, err)
		}
	}
	text := "package p\n\nfunc (T) init() {}\n"
	if got, err := rewrite("p.go", []byte(text), names{enter: "E", body: "B"}, false, nil, false); err != nil || !strings.Contains(string(got), "E()") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestNames(t *testing.T) {
	if got := namesFor([][]byte{[]byte("var _tracerag__body int"), []byte("_tracerag_enter")}); got.enter != "_tracerag___enter" {
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

// TestByteOrderMark: a file that begins with one compiles behind the line that put writes, with each way of recording.
func TestByteOrderMark(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(name, []byte("\ufeffpackage p\r\n\r\nfunc F(s string) int { return len(s) }\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, add := range []map[string]bool{{}, {MarkLines: true}, {MarkLines: true, MarkValues: true}} {
		dir := t.TempDir()
		words, err := sources([]string{"-p", "example.com/p", name}, add, dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(words[2])
		if err != nil {
			t.Fatal(err)
		}
		if words[2] == name || bytes.Contains(text, []byte("\ufeff")) || !bytes.Contains(text, []byte("package p")) {
			t.Errorf("%v: %s is\n%q", add, words[2], text)
		}
	}
}

// TestToolKilled: a tool that a signal ended, as when memory is short, is named with the signal.
func TestToolKilled(t *testing.T) {
	if os.Getenv("TRACERAG_TEST_KILLED") != "" {
		os.Exit(start("sh", []string{"-c", "kill -9 $$"}))
	}
	if runtime.GOOS == "windows" {
		t.Skip("processes are not ended by signals")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestToolKilled$")
	cmd.Env = append(os.Environ(), "TRACERAG_TEST_KILLED=1")
	said, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || string(said) != "sh: signal: killed\n" {
		t.Errorf("%v: %q", err, said)
	}
}

// TestRefused: what the compiler says of a program that does not compile is about the user's source.
func TestRefused(t *testing.T) {
	if at := os.Getenv("TRACERAG_TEST_REFUSED"); at != "" {
		tool, _ := exec.Command("go", "tool", "-n", "compile").Output()
		os.Exit(Tool([]string{strings.TrimSpace(string(tool)), "-o", filepath.Join(at, "p.a"), "-p", "p", "-tracerag=values", filepath.Join(at, "p.go")}))
	}
	dir := t.TempDir()
	text := "package p\n\nfunc f(int) (int, bool) { return 1, true }\n\nfunc g() int { var x int = f(1); return x }\n"
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRefused$")
	cmd.Env = append(os.Environ(), "TRACERAG_TEST_REFUSED="+dir)
	said, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(said, []byte("p.go:5:")) || bytes.Contains(said, []byte("_tracerag")) {
		t.Errorf("%v:\n%s", err, said)
	}
}
