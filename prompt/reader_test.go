package prompt

import (
	"strings"
	"testing"

	"tracerag/source"
	"tracerag/trace"
)

// A function is read with the file's line numbers, without what did not run.
func TestReaderSource(t *testing.T) {
	r, err := NewReader(inputLong(t, longText(8), statesOf(8, 1, 7)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fn := r.m.order[0]
	got, ok := r.source(fn, 0)
	want := "### main.step  vm.go:9-29\n```go\n" + `9 // step does one.
10 func step(op int) int {
	switch op {
[lines 12-13 left out: did not run]
14 	case 1:
15 		return handleX(op, "value number 1 of the machine")
[lines 16-25 left out: did not run]
26 	case 7:
		return handle(op, "value number 7 of the machine")
	}
29 	return 0
30 }
` + "```\n\n"
	want = strings.ReplaceAll(want, "29 \treturn 0\n30 }", "\treturn 0\n30 }")
	want = strings.ReplaceAll(want, "vm.go:9-29", "vm.go:9-30")
	if !ok || got.Text != want || got.Tier != TierRan || got.Elided != 12 || got.Tokens != r.o.Counter.Count(want) {
		t.Errorf("got %+v, %v, want\n%s", got, ok, want)
	}
	if _, ok := r.source(trace.Function{Name: "main.other"}, 0); ok {
		t.Error("a function that was not called has a source")
	}
}

// However little room there is, something is shown that names the function.
func TestReaderSourceWithinAnyNumberOfTokens(t *testing.T) {
	in := inputLong(t, longText(200))
	in.Question = "Where is value 137 handled?"
	r, err := NewReader(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		most int
		want Tier
	}{{100_000, TierFull}, {3_000, TierWindow}, {400, TierWindow}, {20, TierSignature}} {
		got, _ := r.source(r.m.order[0], tt.most)
		if got.Tier != tt.want || got.Tier != TierSignature && got.Tokens > tt.most {
			t.Errorf("within %d tokens: %s of %d tokens, want %s", tt.most, got.Tier, got.Tokens, tt.want)
		}
		if got.Tier == TierWindow && !strings.Contains(got.Text, "value number 137 ") {
			t.Errorf("within %d tokens the question's line is missing:\n%s", tt.most, got.Text)
		}
	}
}

// Citations of what was read are known, those of what was left out are not.
func TestReaderCitations(t *testing.T) {
	r, err := NewReader(inputLong(t, longText(8), statesOf(8, 1, 7)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := r.source(r.m.order[0], 0)
	for _, c := range CheckCitations("See vm.go:15, vm.go:26-27, vm.go:20, vm.go:31 and `step`.", got.Text) {
		if want := !strings.HasSuffix(c.Text, ":20") && !strings.HasSuffix(c.Text, ":31"); c.Known != want {
			t.Errorf("%s is known: %v, want %v", c.Text, c.Known, want)
		}
	}
}

// A large type is cut to the fields that what was read uses, a small one is whole, and
// what only the statements name that did not run is left out.
func TestReaderTypes(t *testing.T) {
	text := longText(8)
	large := source.Decl{
		Keyword: "type", Package: "main", Names: []string{"machine"}, Path: "/vm.go", Display: "vm.go", DocStart: 100, Start: 100, End: 163,
		Body: "type machine struct {\n\thandleX func(int) // called\n" + strings.Repeat("\tother int // nobody asks for it\n", 60) + "\tbase\n}",
	}
	small := source.Decl{
		Keyword: "type", Package: "main", Names: []string{"op"}, Path: "/vm.go", Display: "vm.go", DocStart: 200, Start: 200, End: 200, Body: "type op int",
	}
	unused := source.Decl{
		Keyword: "type", Package: "main", Names: []string{"handleXXXXX"}, Path: "/vm.go", Display: "vm.go", DocStart: 210, Start: 210, End: 210, Body: "type handleXXXXX int",
	}
	large.Names = append(large.Names, "handleX")
	in := inputLong(t, text, statesOf(8, 1))
	in.Named = func(trace.Function, source.Text) []source.Decl { return []source.Decl{large, small, unused} }
	r, err := NewReader(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, d := range r.types(0, r.m.order...) {
		all.WriteString(d.Text)
	}
	want := "### type main.machine, handleX  vm.go:100-163\n```go\n100 type machine struct {\n\thandleX func(int) // called\n[lines 102-161 left out]\n162 \tbase\n}\n```\n\n" +
		"### type main.op  vm.go:200-200\n```go\n200 type op int\n```\n\n"
	if all.String() != want {
		t.Errorf("got\n%s\nwant\n%s", all.String(), want)
	}
}

// source returns the source of a function without the statements that did not run, if
// these are known. If that has more than most tokens, it is the statements around the
// question's words, and at last the signature; 0 is any number. Each gap has a mark. It is
// false for a function of which the trees know nothing, or which the compiler made.
func (r *Reader) source(fn trace.Function, most int) (Reading, bool) {
	it := r.m.items[fn]
	if it == nil {
		return Reading{}, false
	}
	return r.reading(r.m.atMost(it, &r.o, most)), true
}

// types returns the declarations of types, constants and package variables that the given
// functions name in what source shows of them in at most so many tokens each,
// in the order in which they do. Large ones are cut to the fields that these functions
// use. It needs [Input.Named].
func (r *Reader) types(most int, fns ...trace.Function) []Reading {
	var shown, functions []*item
	forms := map[*item]*item{}
	for _, fn := range fns {
		if it := r.m.items[fn]; it != nil && forms[it] == nil {
			forms[it] = r.m.atMost(it, &r.o, most)
			functions, shown = append(functions, it), append(shown, forms[it])
		}
	}
	var out []Reading
	for _, d := range r.m.declared(functions, func(it *item) *item { return forms[it] }) {
		out = append(out, r.reading(r.declaration(d, shown)))
	}
	return out
}
