package code_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/build"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/code"
)

var (
	corpus = flag.String("corpus", "", "directories of Go files to test layouts with, comma-separated, instead of some of Go's own")
	shards = flag.Int("every", 100, "take every n-th file of -corpus or of Go's sources")
)

// corpusFiles calls f for texts that parse.
func corpusFiles(t *testing.T, f func(name string, text []byte)) {
	dirs := []string{filepath.Join(build.Default.GOROOT, "src")}
	every := *shards
	if *corpus != "" {
		dirs = strings.Split(*corpus, ",")
	}
	n := 0
	for _, dir := range dirs {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || !d.Type().IsRegular() {
				return nil
			}
			if n++; n%every != 0 {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil || len(text) > 1<<20 {
				return nil
			}
			if _, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments); err == nil {
				f(path, text)
			}
			return nil
		})
	}
	if n == 0 {
		t.Skip("Go's sources are not here")
	}
}

// TestNoLayoutChangesAHash lays files out in ways that nobody would, and has gofmt format what
// comes out.
func TestNoLayoutChangesAHash(t *testing.T) {
	files := 0
	corpusFiles(t, func(name string, text []byte) {
		if t.Failed() && files > 2000 {
			return
		}
		files++
		random := rand.New(rand.NewPCG(uint64(len(text)), 3))
		ugly := uglify(text, random)
		if _, err := parser.ParseFile(token.NewFileSet(), "", ugly, parser.ParseComments); err != nil {
			t.Errorf("the test makes another program of %s: %v\n%s", name, err, ugly[:min(len(ugly), 500)])
			return
		}
		sameHashes(t, name+", laid out badly", text, ugly)
		pretty, err := format.Source(text)
		if err != nil {
			t.Fatal(err)
		}
		sameHashes(t, name+", formatted", text, pretty)
		if pretty, err = format.Source(ugly); err != nil {
			t.Fatal(err)
		}
		sameHashes(t, name+", laid out badly and formatted", text, pretty)
	})
	t.Logf("%d files", files)
}

func sameHashes(t *testing.T, name string, a, b []byte) {
	t.Helper()
	x, y := code.Parse(a), code.Parse(b)
	if len(x.Decls) != len(y.Decls) {
		t.Errorf("%s: %d declarations are %d", name, len(x.Decls), len(y.Decls))
		return
	}
	for i := range x.Decls {
		d, e := &x.Decls[i], &y.Decls[i]
		if d.Symbol() != e.Symbol() || d.Kind != e.Kind {
			t.Errorf("%s: %s %s is %s %s", name, d.Kind, d.Symbol(), e.Kind, e.Symbol())
		}
		if d.Tokens != e.Tokens {
			t.Errorf("%s: the tokens of %s differ:\n%s", name, d.Symbol(), difference(d.Of(a), e.Of(b)))
		}
		if d.Comments != e.Comments {
			t.Errorf("%s: the comments of %s differ:\n%s", name, d.Symbol(), difference(d.With(a), e.With(b)))
		}
	}
}

// difference shows where two texts differ, spaces not counted.
func difference(a, b []byte) string {
	x, y := bytes.Fields(a), bytes.Fields(b)
	i := 0
	for i < len(x) && i < len(y) && bytes.Equal(x[i], y[i]) {
		i++
	}
	part := func(f [][]byte) []byte { return bytes.Join(f[min(max(i-8, 0), len(f)):min(i+12, len(f))], []byte(" ")) }
	return fmt.Sprintf("\t%s\n\t%s", part(x), part(y))
}

// uglify writes a file with other spaces and line ends. Semicolons that line ends stand
// for are written at random, and lines that may be joined are.
func uglify(text []byte, random *rand.Rand) []byte {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	type part struct {
		tok   token.Token
		text  string
		lines int // line ends in front
	}
	var parts []part
	last := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		at := file.Offset(pos)
		p := part{tok: tok, text: lit}
		if lit == "" {
			p.text = tok.String()
		}
		if tok == token.SEMICOLON && lit == "\n" {
			p.text = "\n"
		} else {
			gap := text[min(last, at):at]
			p.lines = bytes.Count(gap, []byte("\n"))
			last = at + len(p.text)
			if tok == token.COMMENT {
				last = at + len(lit)
				if c := bytes.IndexByte(text[at:], '\r'); c >= 0 && c < len(lit)+1 {
					last = at + len(lit) + 1
				}
			}
		}
		parts = append(parts, p)
	}
	spaces := func() string { return [...]string{" ", "  ", "\t", "   ", " \t "}[random.IntN(5)] }
	var b strings.Builder
	comment := func(i int) bool { return i >= 0 && i < len(parts) && parts[i].tok == token.COMMENT }
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		b.WriteString("\ufeff")
	}
	directives := bytes.Contains(text, []byte("//line ")) || bytes.Contains(text, []byte("import \"C\""))
	started := false
	depth := 0
	for i, p := range parts {
		started = started || p.tok == token.TYPE || p.tok == token.FUNC || p.tok == token.VAR || p.tok == token.CONST
		switch p.tok {
		case token.LBRACE:
			depth++
		case token.RBRACE:
			depth--
		}
		if !started || directives {
			// The header stays as it is: comments in it have a meaning.
			if p.lines > 0 && p.text != "\n" {
				b.WriteString(strings.Repeat("\n", p.lines))
			} else if p.text != "\n" {
				b.WriteByte(' ')
			}
			if p.text == "\n" && i+1 < len(parts) && parts[i+1].lines > 0 {
				continue
			}
			b.WriteString(p.text)
			continue
		}
		switch {
		case p.text == "\n" && p.tok == token.SEMICOLON:
			switch {
			case i+1 < len(parts) && parts[i+1].tok != token.COMMENT && !comment(i-1) && depth > 0 && random.IntN(4) == 0:
				b.WriteString(";" + spaces())
				parts[i+1].lines = 0
			case i+1 < len(parts) && parts[i+1].lines > 0: // which it comes with
			default:
				b.WriteString("\n")
			}
			continue
		case comment(i), comment(i - 1):
			if p.lines > 0 {
				b.WriteString(strings.Repeat("\n", p.lines))
			}
			b.WriteString(spaces())
			if comment(i) && strings.HasPrefix(p.text, "//") && p.lines > 0 {
				b.WriteString(p.text + strings.Repeat(" ", random.IntN(2)))
				continue
			}
		case i > 0 && parts[i-1].text == "\n":
			b.WriteString(strings.Repeat("\n", p.lines))
			b.WriteString(spaces())
		case p.lines > 0 && random.IntN(2) == 0: // a line end that says nothing
			b.WriteString(spaces())
		case p.lines > 0:
			b.WriteString(strings.Repeat("\n", 1+random.IntN(3)))
		case opens(parts[i-1].tok) && random.IntN(12) == 0 && p.tok != token.RPAREN && p.tok != token.RBRACE && p.tok != token.RBRACK:
			b.WriteString("\n")
		default:
			b.WriteString(spaces())
		}
		b.WriteString(p.text)
	}
	b.WriteString("\n")
	return []byte(b.String())
}

// opens reports whether a line may end behind a token.
func opens(t token.Token) bool {
	return t == token.LBRACE || t == token.LPAREN || t == token.COMMA || t == token.ADD || t == token.LAND || t == token.ASSIGN
}

// TestLayouts has forms that gofmt makes one, and others that it keeps apart.
func TestLayouts(t *testing.T) {
	hash := func(text string) (code.Hash, code.Hash) {
		f := code.Parse([]byte("package p\n" + text))
		if len(f.Errors) > 0 || len(f.Decls) != 1 {
			t.Fatalf("%s: %+v", text, f)
		}
		return f.Decls[0].Tokens, f.Decls[0].Comments
	}
	for _, forms := range [][]string{
		{"func f() { for ;; { x() } }", "func f() { for { x() } }", "func f() { for ; ; {\nx(); } }"},
		{"func f() { for ; a; { x() } }", "func f() { for a { x() } }", "func f() { for (a) {; x();; } }"},
		{"func f() { for ; g(func() { a(); b() }); { x() } }", "func f() { for g(func() { a(); b() }) { x() } }"},
		{"func f() { if ; a { x() } }", "func f() { if a { x() } }", "func f() { if ((a)) {\n\n x() } }"},
		{"func f() { switch ; { case a: ; b() } }", "func f() { switch { case a: b() } }"},
		{"func f(a (int), b (*(T))) (error) {}", "func f(a int, b *(T)) error {}", "func f(a int, b *(T),) (error,) {}"},
		{"func f() { x := ((a)) }", "func f() { x := (a) }"},
		{"func f() { g(a, b,) }", "func f() { g(\na,\nb,\n) }", "func f() { g(a, b) }"},
		{"var x = []int{0XFF, 0B1, 0O17, 1E5, 0X1P3, 007i, 0i}", "var x = []int{0xFF, 0b1, 0o17, 1e5, 0x1p3, 7i, 0i,}"},
		{"var x = `a\r\nb`", "var x = `a\nb`"},
		{"func f() { L: ; for {} }", "func f() { L:\n;\nfor {} }"},
		{"type T struct { a int; b string; }", "type T struct {\na int\nb string\n}"},
		{"type T[P any,] int", "type T[P any] int"},
		{"// A “b”.\n//\n//   - one\n//   - two\n//   1. x\n//\n//go:noinline\nfunc f() {}", "//A ``b''.\n//  * one\n//  + two\n//  1) x\n//go:noinline\nfunc f() {}"},
		{"// Head\n//\n// [a]: http://x\n// [b]: http://y\n//\n// # T\n//\n// text [b]\nfunc f() {}", "// Head\n//\n// #  T\n// text [b]\n//\n// [b]: http://y\n//\n// [a]: http://x\nfunc f() {}"},
	} {
		tokens, comments := hash(forms[0])
		for _, form := range forms[1:] {
			a, b := hash(form)
			if a != tokens {
				t.Errorf("the tokens of these differ:\n%s\n%s", forms[0], form)
			}
			if b != comments {
				t.Errorf("the comments of these differ:\n%s\n%s", forms[0], form)
			}
		}
		pretty, err := format.Source([]byte("package p\n" + forms[0]))
		if err != nil {
			t.Fatal(err)
		}
		sameHashes(t, forms[0], []byte("package p\n"+forms[0]), pretty)
	}
	for _, forms := range [][2]string{
		{"func f() { return\ng() }", "func f() { return g() }"},
		{"func f() { for a(); b(); { } }", "func f() { for ; a(); b() { } }"},
		{"func f() { for a(); ; b() { } }", "func f() { for a(); b(); { } }"},
		{"func f() { for ;; b() { } }", "func f() { for ; b(); { } }"},
		{"func f() { L: ; for {} }", "func f() { L: for {} }"},
		{"type T[P *C,] int", "type T[P * C] int"},
		{"func f() { switch x; { } }", "func f() { switch x { } }"},
		{"var x = 0xFF", "var x = 0xff"},
		{"var x = `a\\r`", "var x = `a`"},
		{"var x = `a b`", "var x = `a  b`"},
		{"var x = \"a\"", "var x = `a`"},
		{"var x = a - b", "var x = a + b"},
		{"var x = a<-b", "var x = a< -b"},
		{"func f() { a; b }", "func f() { a b() }"},
		{"func f(a, b int) {}", "func f(a int, b int) {}"},
		{"func f() {}", "func g() {}"},
		{"var a int", "const a = 1"},
	} {
		f, g := code.Parse([]byte("package p\n"+forms[0])), code.Parse([]byte("package p\n"+forms[1]))
		if f.Decls[0].Tokens == g.Decls[0].Tokens {
			t.Errorf("these have the same tokens:\n%s\n%s", forms[0], forms[1])
		}
	}
}

// TestEachTokenCounts changes a token of a declaration, and finds that its hash changes and no other.
func TestEachTokenCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	changed := 0
	corpusFiles(t, func(name string, text []byte) {
		f := code.Parse(text)
		if len(f.Decls) == 0 {
			return
		}
		for range 5 {
			i := random.IntN(len(f.Decls))
			d := f.Decls[i]
			at, tok, lit := tokenIn(d.Of(text), random)
			if at < 0 {
				continue
			}
			at += d.Start
			var other string
			switch {
			case tok == token.IDENT:
				other = lit + "q"
			case tok == token.INT:
				other = "1" + strings.Trim(lit, "xXoObB_")
			case tok == token.STRING:
				other = lit[:1] + "q" + lit[1:]
			case tok == token.ADD:
				other = "-"
			case tok == token.EQL:
				other = "!="
			case tok == token.LAND:
				other = "||"
			default:
				continue
			}
			mutant := slices.Concat(text[:at], []byte(other), text[at+len(lit):])
			g := code.Parse(mutant)
			if len(g.Errors) > 0 || len(g.Decls) != len(f.Decls) {
				continue // texts that still parse must differ
			}
			changed++
			for j := range f.Decls {
				if same := f.Decls[j].Tokens == g.Decls[j].Tokens; same != (i != j) {
					t.Errorf("%s: %q became %q in %s: the hash of %s is the same: %v", name, lit, other, d.Symbol(), f.Decls[j].Symbol(), same)
				}
			}
		}
	})
	if changed == 0 {
		t.Error("nothing was changed")
	}
	t.Logf("%d changes", changed)
}

// tokenIn picks a token of a text.
func tokenIn(text []byte, random *rand.Rand) (at int, tok token.Token, lit string) {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	at, n := -1, 0
	for {
		pos, k, l := s.Scan()
		if k == token.EOF {
			return at, tok, lit
		}
		if l == "" {
			l = k.String()
		}
		if l == "\n" || strings.Contains(l, "\r") {
			continue
		}
		if n++; random.IntN(n) == 0 {
			at, tok, lit = file.Offset(pos), k, l
		}
	}
}

// BenchmarkParse reads the parts of the compiler that people wrote, hashes included.
func BenchmarkParse(b *testing.B) {
	var texts [][]byte
	lines := 0
	l := list(b, filepath.Join(build.Default.GOROOT, "src", "cmd", "compile"), code.Options{})
	for _, e := range l.Files {
		text, err := os.ReadFile(filepath.Join(l.Root, e.Path))
		if err != nil {
			b.Fatal(err)
		}
		if e.Testdata || code.Parse(text).Generated {
			continue
		}
		texts = append(texts, text)
		lines += bytes.Count(text, []byte("\n"))
	}
	for b.Loop() {
		for _, text := range texts {
			code.Parse(text)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(lines)*1e5, "s/100k-lines")
}
