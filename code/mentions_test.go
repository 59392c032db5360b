package code_test

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/code"
)

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
