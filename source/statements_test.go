package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A line of the text that ends in "// no" did not run. Those marked with "|" in
// front, which is taken away, can be left out.
func TestStatements(t *testing.T) {
	for name, tt := range map[string]struct {
		kind Kind
		text string
	}{
		"one after the other": {Declared, `
func f() {
	a()
|	// why
|	b() // no
|
|	c( // no
|		1)
	d()
}`},
		"all": {Declared, `
func (t *T) f() {
|	a() // no
|	b() // no
}`},
		"branches": {Declared, `
func f() {
	if a() {
		b()
	} else {
|		c() // no
|		d() // no
	}
	switch x {
	case 1:
		a()
|	case 2:
|		b() // no
|	case 3: // no
|		c() // no
	case g(4):
|		c() // no
	case 5:
	default:
		d()
	}
	select {
	case x := <-c:
|		b(x) // no
	}
}`},
		"a statement with something in it that ran": {Declared, `
func f() {
	for {
		a()
|		if b { // no
|			c() // no
|		}
	}
}`},
		"on one line": {Declared, `
func f() { a() } // no`},
		"with the brace": {Declared, `
func f() { // no
|	a() // no
	b() }`},
		"literals": {Declared, `
func f() {
	each(func(x int) {
|		a() // no
	})
	defer func() {
		b()
|		c() // no
	}()
}`},
		"a literal": {Closure, `
func(x int) {
	a()
|	b() // no
}`},
		"a loop's body": {Closure, `
for x := range seq {
	a()
|	b() // no
}`},
		"a goroutine": {Closure, `
go func() {
|	b() // no
}()`},
		"a variable": {Closure, `
table = map[string]func(){
	"a": func() {
|		a() // no
	},
	"b": nil,
}`},
		"a variable alone": {Closure, `
var table = []func(){
	func() {
|		a() // no
		b()
	},
}`},
		"what does not parse": {Declared, `
func f() {
	a( // no
}`},
		"assembly": {Assembly, `
TEXT ·f(SB), 0, $0
	RET // no`},
	} {
		const start = 40
		var body, want []string
		for i, line := range strings.Split(tt.text[1:], "\n") {
			if rest, ok := strings.CutPrefix(line, "|"); ok {
				line = rest
				want = append(want, fmt.Sprint(start+i))
			}
			body = append(body, line)
		}
		ran := func(n int) bool {
			line := body[n-start]
			return !strings.HasSuffix(line, "// no") && strings.Trim(line, "\t ){}1") != ""
		}
		text := Text{Kind: tt.kind, Start: start, End: start + len(body) - 1, Body: strings.Join(body, "\n")}
		var got []string
		for _, r := range text.Statements(func(first, last int) bool {
			no := false
			for n := first; n <= last; n++ {
				if ran(n) {
					return false
				}
				no = no || strings.HasSuffix(body[n-start], "// no")
			}
			return no
		}) {
			for n := r.First; n <= r.Last; n++ {
				got = append(got, fmt.Sprint(n))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: lines %v can be left out, want %v", name, got, want)
		}
	}
}

// Lines that a statement shares with one that stays, stay.
func TestStatementsShareLines(t *testing.T) {
	text := Text{Start: 1, Body: "func f() {\n\ta(); b(\n\t\t1,\n\t\t2); c()\n\td(\n\t); e()\n}"}
	got := text.Statements(func(first, last int) bool { return last > first })
	if want := []Range{{3, 3}, {5, 5}}; !slices.Equal(got, want) {
		t.Errorf("%v can be left out, want %v", got, want)
	}
}

// Literals are found wherever they are, with the lines that are theirs alone; the text of a
// literal is not one in itself.
func TestLiterals(t *testing.T) {
	for name, tt := range map[string]struct {
		kind Kind
		text string
		want []Literal
	}{
		"in statements":  {Declared, "func f() {\n\tg(func() {\n\t\th()\n\t\tdefer func() {\n\t\t\ti()\n\t\t}()\n\t})\n\tk(func() { l() })\n}", []Literal{{11, Range{12, 15}}, {13, Range{14, 14}}}},
		"of a literal":   {Closure, "func() {\n\tgo func() {\n\t\th()\n\t}()\n}", []Literal{{11, Range{12, 12}}}},
		"none":           {Declared, "func f() {\n\tg()\n}", nil},
		"does not parse": {Declared, "func f() {", nil},
	} {
		if got := (Text{Kind: tt.kind, Body: tt.text, Start: 10}).Literals(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
