package rank

import (
	"slices"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// sources are the declarations of the tests' program, by linker name.
var sources = map[string]source.Text{
	"main.main":                   {Display: "main.go", Decl: "main", Start: 3, End: 5, Body: "func main() {\n\trun()\n}"},
	"example.com/t.(*Table).Draw": {Display: "t/draw.go", Decl: "(*Table).Draw", Start: 10, End: 20, Body: "func (t *Table) Draw() {\n\tdefer func() { border() }()\n}"},
	"example.com/t.(*Table).Draw.func1": {Kind: source.Closure, Display: "t/draw.go", Decl: "(*Table).Draw", Start: 11, End: 11,
		Body: "func() { border() }", Parent: "example.com/t.(*Table).Draw"},
	"example.com/t.Map[go.shape.int]":    {Display: "t/map.go", Decl: "Map", Start: 1, End: 3, Body: "func Map[T any](x T) {\n\tpad()\n}"},
	"example.com/t.Map[go.shape.string]": {Display: "t/map.go", Decl: "Map", Start: 1, End: 3, Body: "func Map[T any](x T) {\n\tpad()\n}"},
	"example.com/t.pad":                  {Display: "t/pad.go", Decl: "pad", Start: 1, End: 3, Body: "func pad() {\n\treturn\n}"},
	"example.com/u.init.0":               {Display: "u/a.go", Decl: "init", Start: 1, End: 3, Body: "func init() {\n\tone()\n}"},
	"example.com/u.init.1":               {Display: "u/b.go", Decl: "init", Start: 1, End: 3, Body: "func init() {\n\ttwo()\n}"},
}

func lookUp(f trace.Function) source.Text {
	if t, ok := sources[f.Name]; ok {
		return t
	}
	return source.Text{Kind: source.Missing, Warning: "it is not here"}
}

// run makes a run out of paths: "a>b>c 3" is three calls of c, below b, below a.
func run(t *testing.T, paths ...string) Run {
	t.Helper()
	tr := new(trace.Trace)
	b := trace.NewBuilder(tr)
	for _, p := range paths {
		var stack []trace.Frame
		for name := range strings.SplitSeq(p, ">") {
			pkg := symbol.Package(name)
			stack = append(stack, trace.Frame{Func: b.Func(trace.Function{Name: name, Package: pkg, File: "x.go", StartLine: 1})})
		}
		b.Call(trace.Root{Kind: trace.RootMain}, stack, 1)
	}
	b.Finish()
	tree, err := calltree.Build(tr, calltree.Options{KeepInit: true})
	if err != nil {
		t.Fatal(err)
	}
	return Run{Trace: tr, Tree: tree, Source: lookUp}
}

func order(r *Ranking) string {
	var out []string
	for _, f := range r.Functions {
		out = append(out, f.Name)
	}
	return strings.Join(out, " ")
}

const draw = "main.main>example.com/t.(*Table).Draw"

// Closures and instantiations are ranked as the declaration that they are of.
func TestDeclarations(t *testing.T) {
	one := run(t, "main.main", draw, draw+">"+"example.com/t.(*Table).Draw.func1", draw+">example.com/t.Map[go.shape.int]",
		draw+">example.com/t.Map[go.shape.string]", draw+">example.com/t.Map[go.shape.string]", draw+">example.com/t.gone")
	r := Runs("who draws the border", []Run{one}, Evidence{})
	if got, want := order(r), "t.(*Table).Draw main.main t.Map t.gone"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		switch f.Name {
		case "t.(*Table).Draw":
			if f.Calls != 2 || f.Position != "t/draw.go:10-20" || f.Source.Body != sources["example.com/t.(*Table).Draw"].Body {
				t.Errorf("%+v", f)
			}
		case "t.Map":
			if f.Calls != 3 {
				t.Errorf("%d calls of Map", f.Calls)
			}
		case "t.gone":
			if f.Position != "" || f.Calls != 1 {
				t.Errorf("%+v", f)
			}
		}
	}
	whole, _ := r.Score(trace.Function{Name: "example.com/t.(*Table).Draw", Package: "example.com/t", File: "x.go", StartLine: 1})
	part, why := r.Score(trace.Function{Name: "example.com/t.(*Table).Draw.func1", Package: "example.com/t", File: "x.go", StartLine: 1})
	if whole != part || !strings.Contains(why, "border") {
		t.Errorf("the closure has %v, its function %v: %s", part, whole, why)
	}
	if s, _ := r.Score(trace.Function{Name: "example.com/t.never"}); s != 0 {
		t.Errorf("what did not run has %v", s)
	}
}

// All init functions of a package are called the same in source.
func TestInits(t *testing.T) {
	r := Runs("two", []Run{run(t, "example.com/u.init.0", "example.com/u.init.1")}, Evidence{})
	if len(r.Functions) != 2 || r.Functions[0].Position != "u/b.go:1-3" {
		t.Errorf("%+v", r.Functions)
	}
}

func TestEvidenceOfRuns(t *testing.T) {
	with := run(t, "main.main", draw, "main.main>example.com/t.pad", "main.main>example.com/t.Map[go.shape.int]")
	without := run(t, "main.main", "main.main>example.com/t.pad", "main.main>example.com/t.pad")
	has := func(r *Ranking, name string, k Kind) bool {
		for _, f := range r.Functions {
			if f.Name == name {
				return slices.ContainsFunc(f.Reasons, func(x Reason) bool { return x.Kind == k })
			}
		}
		t.Fatalf("no %s", name)
		return false
	}
	r := Runs("?", []Run{with}, Evidence{Baselines: []*trace.Trace{without.Trace}})
	if !has(r, "t.pad", Startup) || has(r, "t.(*Table).Draw", Startup) {
		t.Errorf("pad alone is called as often without the feature: %+v", r.Functions)
	}
	r = Runs("?", []Run{with}, Evidence{Passing: slices.Values([]*trace.Trace{without.Trace})})
	if has(r, "t.pad", Unshared) || !has(r, "t.(*Table).Draw", Unshared) {
		t.Errorf("Draw is not called by what passes: %+v", r.Functions)
	}
	r = Runs("border pad", []Run{with}, Evidence{Others: []Texts{{Functions: slices.Values(slices.Repeat([]string{"func x() { border() }"}, 50))}}})
	if r.Functions[0].Name != "t.pad" {
		t.Errorf("border is everywhere, and still: %s", order(r))
	}
}

func TestTestOf(t *testing.T) {
	for _, test := range []struct {
		main    string
		command string
		want    trace.Test
	}{
		{"example.com/p.test", "go test -run TestX ./p", trace.Test{Package: "example.com/p", Name: "TestX"}},
		{"example.com/p.test", "go test -run=^TestX$/^a_b$ ./p", trace.Test{Package: "example.com/p", Name: "TestX/a_b"}},
		{"example.com/p.test", "./p.test -test.run ^TestX$", trace.Test{Package: "example.com/p", Name: "TestX"}},
		{"example.com/p.test", "go test -run Test.* ./p", trace.Test{Package: "example.com/p"}},
		{"example.com/p.test", "go test ./p", trace.Test{Package: "example.com/p"}},
		{"example.com/p.test", "go test -run", trace.Test{Package: "example.com/p"}},
		{"example.com/p", "./p -run=TestX", trace.Test{}},
	} {
		tr := &trace.Trace{Command: strings.Fields(test.command)}
		tr.Program.MainPath = test.main
		if got := testOf(tr); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.command, got, test.want)
		}
	}
	own := trace.Test{Package: "p", Name: "ExampleX"}
	if got := testOf(&trace.Trace{Test: own}); got != own {
		t.Errorf("%+v", got)
	}
}

// What a failing test runs only to report its failure is not what is looked for, however
// many words of the question it has; in a test that passed it may be.
func TestReporting(t *testing.T) {
	const test = "example.com/t.TestDraw"
	sources[test] = source.Text{Display: "t/draw_test.go", Decl: "TestDraw", Start: 1, End: 3, Body: "func TestDraw(t *testing.T) {}"}
	sources["github.com/stretchr/testify/assert.Equal"] = source.Text{Display: "assert/a.go", Decl: "Equal", Start: 1, End: 3, Body: "func Equal() { border(); border() }"}
	sources["example.com/t.(*Table).String"] = source.Text{Display: "t/string.go", Decl: "(*Table).String", Start: 1, End: 3, Body: "func (t *Table) String() string { return border() }"}
	r := run(t, test+">example.com/t.(*Table).Draw", test+">github.com/stretchr/testify/assert.Equal>example.com/t.(*Table).String", test+">example.com/t.pad")
	r.Trace.Program.MainPath = "example.com/t.test"
	for _, failed := range []bool{true, false} {
		r.Trace.Exit = trace.Exit{}
		if failed {
			r.Trace.Exit.Code = 1
		}
		got := Runs("border", []Run{r}, Evidence{})
		reporting := map[string]bool{}
		for _, f := range got.Functions {
			reporting[f.Name] = slices.ContainsFunc(f.Reasons, func(x Reason) bool { return x.Kind == Reporting })
		}
		if reporting["assert.Equal"] != failed || reporting["t.(*Table).String"] != failed || reporting["t.(*Table).Draw"] || reporting["t.pad"] {
			t.Errorf("failed %t: %v", failed, reporting)
		}
		if failed && got.Functions[0].Name != "t.(*Table).Draw" {
			t.Errorf("failed: %s", order(got))
		}
	}
}

// A literal of a package variable's initialiser is called what the call tree calls it.
func TestVariablesClosure(t *testing.T) {
	const name = "example.com/v.init.func1"
	sources[name] = source.Text{Kind: source.Closure, Display: "v/v.go", Decl: "command", Start: 3, End: 9, Body: "command = &Command{Run: func() { sync() }}", Parent: "example.com/v.command"}
	sources["example.com/v.command"] = source.Text{Kind: source.Declared, Display: "v/v.go", Decl: "command", Start: 3, End: 9, Signature: "command =", Body: "command = &Command{Run: func() { sync() }}"}
	r := Runs("sync", []Run{run(t, "main.main>"+name)}, Evidence{})
	if got := r.Functions[0]; got.Name != "v.init.func1" || got.Symbol != name {
		t.Errorf("%s, %s", got.Name, got.Symbol)
	}
}
