package code_test

import (
	"fmt"
	"go/format"
	"strings"
	"testing"

	"tracerag/code"
)

const called = `package p

var v = f(g())

func f(x ...int) int {
	for i := range h(func() { g() }).m(int(2)) {
		_ = i
	}
	defer (g)()
	return len(x)
}

type t struct{ a [len("ab")]int }

const c = len("ab")
`

// TestSites says what the sites of a declaration are, and that formatting changes neither
// their number nor their order.
func TestSites(t *testing.T) {
	want := "v: f:3 g:3; f: range:6 h:6 g:6 m:6 int:6 g:9 len:10; t:; c:; "
	if got := sites(t, called); got != want {
		t.Errorf("sites\n%s, want\n%s", got, want)
	}
	ugly := strings.NewReplacer("h(func", "h(\n\nfunc", ".m(int(2))", ".\n m( int ( 2 ) )", "f(g())", "f (\n g ( ),\n)").Replace(called)
	pretty, err := format.Source([]byte(ugly))
	if err != nil {
		t.Fatal(err)
	}
	words := func(s string) string {
		return strings.NewReplacer("0", "", "1", "", "2", "", "3", "", "4", "", "5", "", "6", "", "7", "", "8", "", "9", "").Replace(s)
	}
	for _, text := range []string{ugly, string(pretty)} {
		if got := sites(t, text); words(got) != words(want) || got == want {
			t.Errorf("in another layout the sites are %s", got)
		}
	}
}

// sites writes the word before each site and its line.
func sites(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	for _, d := range code.Parse([]byte(text)).Decls {
		fmt.Fprintf(&b, "%s:", d.Symbol())
		list, err := code.Sites([]byte(text), d)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if strings.HasPrefix(text[s.Offset:], "range") {
				fmt.Fprintf(&b, " range:%d", s.Line)
				continue
			}
			if text[s.Offset] != '(' {
				t.Errorf("a site at %q", text[s.Offset:])
			}
			name := strings.TrimRight(text[:s.Offset], " )")
			fmt.Fprintf(&b, " %s:%d", name[strings.LastIndexAny(name, " (.\n\t")+1:], s.Line)
		}
		b.WriteString("; ")
	}
	return b.String()
}
