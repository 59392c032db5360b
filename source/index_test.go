package source

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/trace/symbol"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestExtents compares every declaration and part found in testdata/extents.*
// with a golden listing.
func TestExtents(t *testing.T) {
	for _, name := range []string{"extents.go", "extents.s"} {
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			got := listing(parse(name, src))
			crlf := strings.ReplaceAll(string(src), "\n", "\r\n")
			if other := listing(parse(name, []byte(crlf))); other != got {
				t.Errorf("with CRLF line ends:\n%s", other)
			}
			golden(t, name+".golden", got)
		})
	}
}

func parse(name string, src []byte) *file {
	if filepath.Ext(name) == ".s" {
		return parseAsm(place{path: name}, src, time.Time{})
	}
	return parseGo(place{path: name}, src, time.Time{})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (go test -update writes it anew):\n%s", name, got)
	}
}

// listing shows an index, a declaration or part a line with its text below.
func listing(f *file) string {
	var b strings.Builder
	next := 0
	for i, d := range f.decls {
		fmt.Fprintf(&b, "%d-%d %s doc %d %q\n", d.line, d.endLine, d.name(), d.docLine, f.text[d.doc:d.docEnd])
		fmt.Fprintf(&b, "\tsignature %q\n\ttext %q\n", f.text[d.start:d.head], f.text[d.start:d.end])
		for ; next < len(f.parts) && f.parts[next].decl == i; next++ {
			p := f.parts[next]
			kind := [...]string{"literal", "range", "go", "defer"}[p.kind]
			fmt.Fprintf(&b, "\t%d-%d %s %d depth %d %q\n", p.line, p.endLine, kind, p.number, f.depth(&p), f.text[p.start:p.end])
		}
	}
	return b.String()
}

// checkIndex holds what every index obeys, whatever the file.
func checkIndex(t *testing.T, f *file) {
	t.Helper()
	ordered := func(what string, s span) {
		if s.start < 0 || s.head < s.start || s.end < s.head || len(f.text) < s.end || s.line < 1 || s.endLine < s.line {
			t.Errorf("%s: span %+v of %d bytes", what, s, len(f.text))
		}
	}
	for i := range f.decls {
		d := &f.decls[i]
		ordered(d.name(), d.span)
		if d.doc < 0 || d.docEnd < d.doc || d.start < d.docEnd || d.line < d.docLine {
			t.Errorf("%s: doc %d-%d at line %d, start %d at line %d", d.name(), d.doc, d.docEnd, d.docLine, d.start, d.line)
		}
	}
	for i := range f.parts {
		p := &f.parts[i]
		ordered("part", p.span)
		if d := f.decls[p.decl]; p.start < d.start || d.end < p.end {
			t.Errorf("part %+v is outside of %s %+v", p.span, d.name(), d.span)
		}
		if p.outer >= i {
			t.Errorf("part %d stands in the later part %d", i, p.outer)
		}
	}
}

func FuzzExtents(f *testing.F) {
	for _, name := range []string{"extents.go", "extents.s"} {
		src, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add("package p\n//line x.y:1\nfunc F() { func() {")
	f.Add("package p\nvar = func() {}\nfunc (")
	f.Fuzz(func(t *testing.T, src string) {
		goFile := parse("f.go", []byte(src))
		checkIndex(t, goFile)
		checkIndex(t, parse("f.s", []byte(src)))
		for i := range goFile.decls {
			d := &goFile.decls[i]
			q := query{sym: symbol.Parse("p." + d.names[0]), base: d.base(goFile), line: d.asLine}
			if len(q.sym.Decl) == 0 || len(q.sym.Tail) > 0 || q.sym.Declaration() != d.names[0] {
				continue
			}
			if _, ok := q.in(goFile); !ok {
				t.Errorf("%s is indexed and not found", d.name())
			}
		}
	})
}

// TestErrorsCostTheirFunction reads a file with an error: what follows it is found.
func TestErrorsCostTheirFunction(t *testing.T) {
	const text = "package p\n\nfunc a() {\n\tif x {\n}\n\n// B is fine.\nfunc (t *T) B() { go func() {}() }\n\nvar c, d = f()\n\ntype T struct{ x int }\n"
	f := parse("x.go", []byte(text))
	var got []string
	for _, d := range f.decls {
		got = append(got, fmt.Sprintf("%s %d-%d", d.name(), d.docLine, d.endLine))
	}
	for _, g := range f.globals {
		got = append(got, fmt.Sprintf("%s %s %d", g.keyword, strings.Join(g.names, ","), g.line))
	}
	want := "a 3-5; (*T).B 7-8; c, d 10-10; var c,d 10; type T 12"
	if s := strings.Join(got, "; "); s != want || !f.broken || f.pkgName != "p" {
		t.Errorf("declarations are %s, want %s", s, want)
	}
	if len(f.parts) != 2 || f.text[f.parts[1].start:f.parts[1].end] != "func() {}" {
		t.Errorf("parts are %+v", f.parts)
	}
}
