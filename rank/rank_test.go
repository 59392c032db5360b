package rank

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// program is a small program's functions, in the order of their first calls.
var program = []Function{
	{Package: "example.com/app", Name: "main", Text: "func main() {\n\trun()\n}", Callees: []int{1}},
	{Package: "example.com/app", Name: "run", Text: "func run() {\n\tt := csv.Read()\n\tt.Draw()\n}", Callees: []int{2, 3}},
	{Package: "example.com/app/csv", Name: "Read", Doc: "Read reads a table.", Text: "func Read() (*Table, error) {\n\treturn nil, fmt.Errorf(\"record %d has too many fields\", n)\n}"},
	{Package: "example.com/app/csv", Name: "(*Table).Draw", Text: "func (t *Table) Draw() {\n\tt.drawBorder()\n}", Callees: []int{4, 5}},
	{Package: "example.com/app/csv", Name: "(*Table).drawBorder", Doc: "drawBorder draws the frame.", Text: "func (t *Table) drawBorder() {\n\tprint(corner, line)\n}"},
	{Package: "example.com/app/csv", Name: "pad", Text: "func pad(s string) string {\n\treturn s\n}"},
	{Package: "example.com/app/csv", Name: "NewTable", Text: "func NewTable() *Table {\n\treturn new(Table)\n}"},
}

func names(rs []Ranked, fs []Function) []string {
	var out []string
	for _, r := range rs {
		out = append(out, fs[r.Function].Name)
	}
	return out
}

func TestFirst(t *testing.T) {
	for _, test := range []struct {
		name     string
		question Question
		want     string // first of the ranking
		why      string // contained in its reasons
	}{
		{"words in an identifier", Question{Text: "which function draws the border?"}, "(*Table).drawBorder", "border"},
		{"words in a doc comment", Question{Text: "where does the frame come from"}, "(*Table).drawBorder", "has frame"},
		{"an error message, with what its verb stood for", Question{Text: `error: record 7 has too many fields`}, "Read", `says "has too many fields"`},
		{"a name", Question{Text: "what is pad for?"}, "pad", "the question says pad"},
		{"the title's package", Question{Text: "csv: table: wrong columns"}, "(*Table).Draw", "the title says csv"},
		{"a test's name alone", Question{Test: "TestDrawBorder/thick", Package: "example.com/app/csv"}, "(*Table).drawBorder", "in the test's package"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rs := Rank(test.question, Corpus{Functions: program}, Default)
			if got := program[rs[0].Function].Name; got != test.want {
				t.Fatalf("%s is first, not %s: %v", got, test.want, names(rs, program))
			}
			if why := rs[0].Why(); !strings.Contains(why, test.why) {
				t.Errorf("the reasons are %q, without %q", why, test.why)
			}
		})
	}
}

// What shares no word with the question follows in the order of its distance
// from what does, and what nothing is known of in the order of first calls.
func TestDistance(t *testing.T) {
	rs := Rank(Question{Text: "frame"}, Corpus{Functions: program}, Default)
	got := names(rs, program)
	want := []string{"(*Table).drawBorder", "(*Table).Draw", "run", "pad", "main", "Read", "NewTable"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if why := rs[1].Why(); why != "near functions that match" {
		t.Errorf("the second is there for %q", why)
	}
}

func TestNoQuestion(t *testing.T) {
	for _, text := range []string{"", "why?", "\n", "the of and"} {
		rs := Rank(Question{Text: text}, Corpus{Functions: program[:6]}, Default)
		if got := names(rs, program); !slices.Equal(got, names2(program[:6])) {
			t.Errorf("%q: %v is not the order of calls", text, got)
		}
	}
	if rs := Rank(Question{Text: "x"}, Corpus{}, Default); len(rs) != 0 {
		t.Errorf("of no functions: %v", rs)
	}
}

func names2(fs []Function) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Name)
	}
	return out
}

// A function that mentions everything somewhere is not about it.
func TestWindow(t *testing.T) {
	long := Function{Package: "p", Name: "interpret", Text: "func interpret() {\n" +
		strings.Repeat("\tnothing()\n", 50) + "\tcompact()\n" +
		strings.Repeat("\tnothing()\n", 50) + "\tbuckets()\n}"}
	short := Function{Package: "p", Name: "walk", Text: "func walk() {\n\tcompact()\n\tbuckets()\n}"}
	rs := Rank(Question{Text: "compact buckets"}, Corpus{Functions: []Function{long, short}}, Default)
	if rs[0].Function != 1 {
		t.Errorf("the long function is first: %+v", rs)
	}
	together := long
	together.Text = "func interpret() {\n" + strings.Repeat("\tnothing()\n", 150) + "\tcompact()\n\tbuckets()\n\tspans()\n}"
	rs = Rank(Question{Text: "compact buckets of spans"}, Corpus{Functions: []Function{short, together}}, Default)
	if rs[0].Function != 1 {
		t.Errorf("all words in one place of a long function count less: %+v", rs)
	}
}

// What is rare in the whole program is worth more than what is rare in the run.
func TestBackground(t *testing.T) {
	fs := []Function{
		{Name: "a", Text: "func a() { node() }"},
		{Name: "b", Text: "func b() { anchor() }"},
	}
	q := Question{Text: "node anchor"}
	others := make([]Function, 100)
	for i := range others {
		others[i].Text = fmt.Sprintf("func f%d() { node() }", i)
	}
	rs := Rank(q, Corpus{Functions: fs, Background: slices.Values(others)}, Default)
	if rs[0].Function != 1 {
		t.Errorf("the word that is everywhere won: %+v", rs)
	}
}

func TestEvidence(t *testing.T) {
	twins := func(change func(*Function)) []Function {
		fs := []Function{{Name: "one", Text: "func one() { span() }"}, {Name: "two", Text: "func two() { span() }"}}
		change(&fs[0])
		return fs
	}
	for name, run := range map[string]Corpus{
		"an empty run does it too":     {Functions: twins(func(f *Function) { f.Startup = true })},
		"a passing run executed it":    {Functions: twins(func(f *Function) { f.Passing = 1 }), Passing: 3},
		"it makes a value":             {Functions: twins(func(f *Function) { f.Name = "newOne" })},
		"an exported one makes one":    {Functions: twins(func(f *Function) { f.Name = "NewOne" })},
		"it is in another package":     {Functions: twins(func(f *Function) { f.Package = "other" })},
		"the title is about the other": {Functions: twins(func(f *Function) { f.Package = "x/y" })},
	} {
		q := Question{Text: "main: spans", Package: "main"}
		run.Functions[1].Package = "main"
		if run.Functions[0].Package == "" {
			run.Functions[0].Package = "main"
		}
		if rs := Rank(q, run, Default); rs[0].Function != 1 || rs[0].Score <= rs[1].Score {
			t.Errorf("%s, and it is not second: %+v", name, rs)
		}
	}
}

// The order does not depend on how many processors read, nor on the run.
func TestSameEachTime(t *testing.T) {
	var fs []Function
	for i := range 500 {
		fs = append(fs, Function{Package: "p", Name: fmt.Sprintf("f%d", i),
			Text: strings.Repeat(fmt.Sprintf("func span%d(node int) {\n\tbucket(%d)\n", i%7, i%11), 1+i%90)})
	}
	q := Question{Text: "span node bucket 3"}
	first := Rank(q, Corpus{Functions: fs, Background: slices.Values(fs)}, Default)
	for range 5 {
		again := Rank(q, Corpus{Functions: fs, Background: slices.Values(fs)}, Default)
		for i := range first {
			if first[i].Function != again[i].Function || first[i].Score != again[i].Score {
				t.Fatalf("place %d: %+v and %+v", i, first[i], again[i])
			}
		}
	}
}

// What is only counted is counted as what is ranked.
func TestCountAsWindows(t *testing.T) {
	q := Question{Text: "parse the expression of a table header"}
	w := Default
	a := ask(q, &w)
	for n := range 130 {
		f := Function{Package: "a/table", Name: "(*Expr).Header", Doc: "Header parses.", Text: strings.Repeat("exprHeader := 1 + table\n", n)}
		one, other := newRarity(a), newRarity(a)
		one.count(newReader(a, &w).windows(&f))
		newReader(a, &w).count(&f, other)
		if one.functions != other.functions || one.windows != other.windows || one.length != other.length || !slices.Equal(one.with, other.with) {
			t.Fatalf("%d lines: %+v and %+v", n, one, other)
		}
	}
}

// A test has the question's words in its name. What the others score does not
// depend on it.
func TestTestsAreNoMeasure(t *testing.T) {
	q := Question{Text: "border: too wide", Test: "TestDrawBorder", Package: "example.com/app/csv"}
	alone := map[string]float64{}
	for _, r := range Rank(q, Corpus{Functions: program}, Default) {
		alone[program[r.Function].Name] = r.Score
	}
	test := Function{Package: q.Package, Name: q.Test, Test: true, Text: "func TestDrawBorder(t *testing.T) {\n\tdrawBorder(border)\n}"}
	// the same words as in the program, so that their rarity stays
	background := slices.Repeat(program, 1000)
	for i := range background {
		background[i].Callees = nil
	}
	with := Rank(q, Corpus{Functions: append(slices.Clone(program), test), Background: slices.Values(background)}, Default)
	for _, r := range with {
		if r.Function == len(program) {
			if r.Score > 1.5 {
				t.Errorf("the test has %v", r.Score)
			}
			continue
		}
		if name := program[r.Function].Name; r.Score < alone[name]/2 {
			t.Errorf("%s has %v, and %v without the test", name, r.Score, alone[name])
		}
	}
	if only := Rank(q, Corpus{Functions: []Function{test}}, Default); only[0].Score < .9 {
		t.Errorf("a test alone has %v", only[0].Score)
	}
}
