package code_test

import (
	"go/format"
	"strings"
	"testing"

	"tracerag/code"
)

const example = `//go:build linux

// Package p is an example.
package p

import (
	"fmt"
	x "example.com/x"
)

// T is a type.
type T[P any] struct{ a int }

type (
	A int
	// B is another.
	B = x.B
)

const (
	_ = iota
	One
	Two
)

func init() {}

func init() { fmt.Println() }

// M does
// something.
func (t *T[P]) M() int { return t.a }

func (B) N()

var _ = One
`

// TestParse says what the declarations of a file are called, and where they are.
func TestParse(t *testing.T) {
	f := code.Parse([]byte(example))
	var got []string
	for _, d := range f.Decls {
		got = append(got, d.Kind.String()+" "+d.Symbol())
	}
	want := "type T, type A, type B, const One, func init, func init#2, method (*T).M, method B.N, var _"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("declarations\n%s, want\n%s", s, want)
	}
	m := f.Decls[6]
	if s := string(m.Of([]byte(example))); s != "func (t *T[P]) M() int { return t.a }" {
		t.Errorf("M is %q", s)
	}
	if s := string(m.Doc.Of([]byte(example))); s != "// M does\n// something." {
		t.Errorf("the doc comment of M is %q", s)
	}
	if f.Constraint != "linux" || f.Package != "p" || len(f.Imports) != 2 || f.Imports[1].Name != "x" || len(f.Errors) > 0 {
		t.Errorf("the file is %+v", f)
	}
}

// TestFormattingChangesNoHash writes the example in a layout that gofmt changes.
func TestFormattingChangesNoHash(t *testing.T) {
	ugly := strings.NewReplacer("{ return t.a }", "{\n\n\n\treturn   t . a;\n}", "\tOne\n", "\tOne;\n", "// M does\n// something.", "//  M does\n//   something.").Replace(example)
	pretty, err := format.Source([]byte(ugly))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{ugly, string(pretty)} {
		a, b := code.Parse([]byte(example)), code.Parse([]byte(other))
		for i := range a.Decls {
			if a.Decls[i].Tokens != b.Decls[i].Tokens || a.Decls[i].Comments != b.Decls[i].Comments {
				t.Errorf("%s has other hashes when it is written as\n%s", a.Decls[i].Name, b.Decls[i].Of([]byte(other)))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("package p\nfunc (x"))
	f.Add([]byte("package p\n<<<<<<< a\nfunc a() { `\n// B\nfunc b() {} /*\ntype T struct {\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		f := code.Parse(text)
		if err := sound(f, text); err != nil {
			t.Error(err)
		}
		for i := range f.Decls {
			d := &f.Decls[i]
			code.Mentions(text, d)
		}
	})
}
