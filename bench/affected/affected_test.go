package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const mutated = `package p

func F(list []string, n int) (int, error) {
	if n < 3 && list != nil {
		n++
	}
	for i := 0; i < len(list); i++ {
		switch {
		case i == 7:
			list[i] = "x"
		}
	}
	return n, nil
}

func other() bool { return true }
`

// TestMutations: each mutation changes the function and no other, and is Go. All kinds are there.
func TestMutations(t *testing.T) {
	list, err := mutations([]byte(mutated), "p.go", 3)
	if err != nil {
		t.Fatal(err)
	}
	var what []string
	for _, m := range list {
		what = append(what, m.What)
		got := m.apply([]byte(mutated))
		if bytes.Equal(got, []byte(mutated)) {
			t.Errorf("%s changes nothing", m.What)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", got, 0); err != nil {
			t.Errorf("%s: %v\n%s", m.What, err, got)
		}
		if !bytes.HasSuffix(got, []byte("func other() bool { return true }\n")) {
			t.Errorf("%s changes another function", m.What)
		}
	}
	slices.Sort(what)
	const want = "!= becomes ==, && becomes ||, < becomes <=, == becomes !=, change a constant, drop a statement, negate a condition, return the zero value"
	if got := strings.Join(slices.Compact(what), ", "); got != want {
		t.Errorf("mutations: %s\nwant       %s", got, want)
	}
	one, two := pick(list, rand.New(rand.NewPCG(1, 2))), pick(list, rand.New(rand.NewPCG(1, 2)))
	if one != two {
		t.Errorf("one seed gives %v and %v", one, two)
	}
	if _, err := mutations([]byte(mutated), "p.go", 4); err == nil {
		t.Error("a function was found where none begins")
	}
}

// TestOutcome: a test that was running when its program ended has failed; a program that ends before any test is
// named by its package.
func TestOutcome(t *testing.T) {
	failing, seconds := outcome([]byte(`
{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"run","Package":"a","Test":"TestX/sub"}
{"Action":"fail","Package":"a","Test":"TestX/sub"}
{"Action":"fail","Package":"a","Test":"TestX","Elapsed":0.5}
{"Action":"run","Package":"a","Test":"TestY"}
{"Action":"pass","Package":"a","Test":"TestY"}
{"Action":"fail","Package":"a","Elapsed":1.5}
{"Action":"run","Package":"b","Test":"TestHangs"}
{"Action":"fail","Package":"b","Elapsed":2}
{"Action":"fail","Package":"c","Elapsed":0}
{"Action":"run","Package":"d","Test":"TestSkips"}
{"Action":"skip","Package":"d","Test":"TestSkips"}
{"Action":"pass","Package":"d","Elapsed":0.5}
`))
	if got := strings.Join(failing, " "); got != "a:TestX b:TestHangs c:" || seconds != 4 {
		t.Errorf("failing %s, %v seconds", got, seconds)
	}
}

// TestTable: what is flaky counts neither as found nor as missed.
func TestTable(t *testing.T) {
	s := sum("m", []result{
		{Failing: []string{"a:TestX", "a:TestY"}, Among: 1, InRan: 2, Found: true, Suite: spent{4, 8, 2}, First: spent{1, 1, 1}, Wanted: spent{2, 2, 0}},
		{Failing: []string{"a:TestZ"}, Suite: spent{4, 8, 2}, First: spent{1, 1, 0}},
		{Failing: []string{"a:TestF"}, Flaky: true},
		{},
	})
	var out bytes.Buffer
	write(&out, []summary{s})
	if want := "| m | 4 | 2 | 1 (50.0 %) | 3 | 66.7 % | 33.3 % | 8 | 2 | 2 | 25.0 % | 33.3 % | 12.5 % | 25.0 % |\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
