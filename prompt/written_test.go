package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracerag/source"
)

// A line of a function, what a run says was called there, and where a prompt says that it is called: "here", "via", the
// text of another line, or "" where it says nothing.
func TestWritten(t *testing.T) {
	for _, tt := range []struct{ line, callee, want string }{
		// Calls by name.
		{"f.Close()", "(*File).Close", "here"},
		{"x := New[go.shape.int](3)", "New[go.shape.int]", "here"},
		{"return list[min(i, 3)](x)", "min", "here"},
		{"go serve(l)", "serve", "here"},
		{"return f(g(`a`)) // why", "g", "here"},
		// By value, and by what was not recorded.
		{"x := handlers[name](3)", "handle", "here"},
		{"for v := range all {", "Table.All", "here"},
		{"sort.Sort(list)", "(*List).Less via", "via"},
		{"slices.SortFunc(list, cmp)", "cmp via", "via"},
		{"b, err := io.ReadAll(r)", "(*File).Read via", "via"},
		{"return fmt.Errorf(\"a: %w\", err)", "(*wrapped).Error via", ""}, // this function defers: it may be that
		// Deferred calls, by this function.
		{"return append(a, 1)", "end", "defer end()"},
		{"return t.RollbackUnlessCommitted()", "(*Tx).Rollback", "defer tx.Rollback()"},
		{"return fun(s)", "un", "defer un(trace(\"run\"))"},
		{"}", "un", "defer un(trace(\"run\"))"},
		{"return check(n, \"finish it\", finishAll())", "finish", "defer finish[map[string]int](trace, 1)"},
		{"panic(fmt.Sprint(x))", "end", "defer end()"},
		{"x := a[first(i)]", "last", "defer first(1).last(2)"},
		// Of a variable, it may be.
		{"return strings.Repeat(\"x\", 3)", "(*File).Close", ""},
		// Deferred by a function around, where this one panics.
		{"fmt.Fprintln(os.Stderr, a[i]) // recovered here", "recovered via", ""},
		{"return strings.ToUpper(x.(string))", "recovered", ""},
		{"panic(first)", "handle", ""},
		// None at all.
		{"x := 3 // late()", "late", ""},
		{"x := `late()`", "late", ""},
		{"if (x) == 3 {", "late", ""},
		{"f := func(a int) {", "late", ""},
		{"start()", "", "here"}, // the name is one that somebody wrote into a trace
	} {
		lines := []string{
			"func run() {", "defer end()", "\tdefer tx.Rollback()", "defer un(trace(\"run\"))", "defer finish[map[string]int](trace, 1)",
			"defer first(1).last(2)", "f := w.Close", "defer f()", "defer func() { recovered() }()", tt.line, "}",
		}
		if tt.line == "}" {
			lines = lines[:len(lines)-1]
		}
		it := &item{source: source.Text{Start: 10, Body: strings.Join(lines, "\n")}}
		other := &item{source: source.Text{Start: 50, Body: "func main() {\n\tdefer recovered()\n\trun()\n}"}}
		name, via := strings.CutSuffix(tt.callee, " via")
		to := &item{key: "example.com/m." + name}
		c := &callers{sites: map[*item][]callSite{it: {{19, to, via}}, other: nil}}
		c.written()
		var got []string
		for _, s := range c.sites[it] {
			switch {
			case s.via:
				got = append(got, "via")
			case s.line == 19:
				got = append(got, "here")
			default:
				got = append(got, strings.TrimSpace(lines[s.line-10]))
			}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s calls %s: %q, want %q", tt.line, tt.callee, got, tt.want)
		}
	}
}

func TestWrittenText(t *testing.T) {
	it, to := &item{source: source.Text{Start: 10, Body: "a()\nsort.Sort(x)"}}, func(name string) *item { return &item{key: "example.com/m." + name} }
	c := &callers{sites: map[*item][]callSite{it: {{10, to("a"), true}, {11, to("(*List).Less"), true}, {99, to("late"), false}}}}
	c.written()
	if got := c.text(it, 10, 99); got != "a 10; .Less 11 via" {
		t.Error(got)
	}
}

// Whatever a source has, calls are in its lines.
func FuzzWritten(f *testing.F) {
	f.Add("func f() {\n\tdefer un(trace())\n\treturn g[int](\"(\")\n}", "un", 3)
	f.Add("defer (", "", 0)
	f.Add("\"\\", "a[", 0)
	f.Fuzz(func(t *testing.T, text, name string, line int) {
		it := &item{source: source.Text{Start: 1, Body: text}}
		to := &item{key: "m." + name}
		c := &callers{sites: map[*item][]callSite{it: {{1 + max(line, 0)%1000, to, false}, {1, to, true}}}}
		c.written()
		n := 1 + strings.Count(text, "\n")
		if i := slices.IndexFunc(c.sites[it], func(s callSite) bool { return s.line < 1 || s.line > n }); i >= 0 {
			t.Error(fmt.Sprint(c.sites[it][i].line, " of ", n))
		}
	})
}
