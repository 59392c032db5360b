package code_test

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/code"
)

func TestLiterals(t *testing.T) {
	const text = "package p\n\nfunc f(x string) error {\n" +
		"\tlog(\"a \\\"b\\\"\", `raw`, \"\") // \"no\"\n" +
		"\tif x == \"one \" +\n\t\t\"text\" { return fmt.Errorf(\"%w: \"+x+\"not found\", err) }\n" +
		"\tpanic(fmt.Sprint(\"inner\"))\n" +
		"\tt.Fatalf(\"bad %d\", []string{\"element\"}, \"\" + \"x\")\n" +
		"\treturn parser.newError(\"made\", 'c')\n}\n"
	f := code.Parse([]byte(text))
	var got []string
	for _, l := range code.Literals([]byte(text), &f.Decls[0]) {
		s := l.Text
		if l.Error {
			s += "!"
		}
		got = append(got, s)
		if first := text[l.Start]; first != '"' && first != '`' {
			t.Errorf("%q is at %q", l.Text, text[l.Start:l.End])
		}
	}
	want := "a \"b\"|raw|one text|%w: !|not found!|inner!|bad %d!|element|x!|made!"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("literals are\n%s, want\n%s", s, want)
	}
	broken := code.Parse([]byte("package p\nfunc f() { x := := \"kept\" }\n"))
	if l := code.Literals([]byte("package p\nfunc f() { x := := \"kept\" }\n"), &broken.Decls[0]); len(l) != 1 || l[0].Text != "kept" {
		t.Errorf("a broken function has %+v", l)
	}
}

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"reduce of empty %s with no initial value": "reduce of empty|with no initial value",
		"%-3d: %q\n":        "",
		"100% sure, 5%":     "100|ure, 5", // "% s" is a verb
		"%[1]*.[2]*f of %%": "of",
		"plain.":            "plain",
	} {
		if got := strings.Join((code.Literal{Text: text}).Pieces(), "|"); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

func TestMentions(t *testing.T) {
	const text = `package p

type (
	T[K any] struct { a K; b *U; c io.Reader }
	V = other.V
)

func (t *T[K]) M(x int) (err error) {
	y := helper(x, Const)
	for i := range y { fmt.Println(i, t.a, table.rows) }
	return &E{Field: y, m: map[string]int{key: 1}}
}

func broken() { x := := 1 }
`
	f := code.Parse([]byte(text))
	for i, want := range []string{"any U io.Reader io", "other.V other", "T int error helper Const fmt.Println fmt table.rows table E key string", ""} {
		var got []string
		for _, m := range code.Mentions([]byte(text), &f.Decls[i]) {
			got = append(got, strings.TrimPrefix(m.Package+"."+m.Name, "."))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s mentions %q, want %q", f.Decls[i].Name, s, want)
		}
	}
}

func ExampleParse() {
	text := []byte(`package p

// Greet greets.
func Greet(name string) string { return "hello " + name }

type T struct{ x int }

func (t *T) Set(x int) { t.x := := x } // a syntax error
`)
	for _, d := range code.Parse(text).Decls {
		fmt.Printf("%s %s, line %d, broken: %v\n", d.Kind, d.Symbol(), d.Line, d.Broken)
	}
	// Output:
	// func Greet, line 4, broken: false
	// type T, line 6, broken: false
	// method (*T).Set, line 8, broken: true
}
