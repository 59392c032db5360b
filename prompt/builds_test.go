package prompt

import (
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/source"
	"tracerag/trace"
)

// Two versions of a program that were built in directories of their own, as work trees of git, have files of one name. Each
// run has its own source; one that is the same text in both is shown once, and says so where it begins in other lines.
func TestTwoBuilds(t *testing.T) {
	type text struct {
		start, lines int
		body         string
	}
	versions := map[string]map[string]text{
		"/old": {
			"main":  {15, 3, "func main() {\n\tbeta(3)\n}"},
			"beta":  {10, 3, "func beta(n int) int {\n\treturn 2 * alpha(n)\n}"},
			"alpha": {5, 3, "func alpha(n int) int {\n\treturn n + 1\n}"},
			"same":  {1, 3, "func same() {\n\tprint()\n}"},
		},
		"/new": {
			"main":  {25, 3, "func main() {\n\tbeta(3)\n}"},
			"beta":  {20, 3, "func beta(n int) int {\n\treturn 2 * alpha(n)\n}"},
			"alpha": {10, 3, "func alpha(n int) int {\n\treturn gamma(n) + 7\n}"},
			"gamma": {5, 3, "func gamma(n int) int {\n\treturn n - 100\n}"},
			"same":  {1, 3, "func same() {\n\tprint()\n}"},
		},
	}
	tree := func(dir string, names ...string) *calltree.Tree {
		tr := &trace.Trace{}
		b := trace.NewBuilder(tr)
		var stack []trace.Frame
		for _, name := range names {
			v := versions[dir][name]
			stack = append(stack, trace.Frame{Func: b.Func(trace.Function{Name: "main." + name, File: dir + "/main.go", StartLine: v.start}), CallLine: v.start})
			b.Call(trace.Root{Kind: trace.RootMain}, stack, 1)
		}
		out, err := calltree.Build(b.Finish(), calltree.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	in := Input{
		Question: "why do the results differ?",
		Runs:     []Run{{Tree: tree("/old", "main", "beta", "alpha", "same")}, {Tree: tree("/new", "main", "beta", "alpha", "gamma", "same")}},
		Source: func(f trace.Function) source.Text {
			dir, _, _ := strings.Cut(f.File, "/main.go")
			v := versions[dir][strings.TrimPrefix(f.Name, "main.")]
			return source.Text{Path: f.File, Display: "main.go", Start: v.start, DocStart: v.start, End: v.start + v.lines - 1, Body: v.body}
		},
	}
	p := build(t, in, Options{})
	_, rest, _ := strings.Cut(p.Text, "## Comparison")
	both, rest, _ := strings.Cut(rest, "## Call tree of run A")
	onlyA, onlyB, _ := strings.Cut(rest, "## Call tree of run B")
	for _, want := range []struct {
		in, name string
		times    int
	}{
		{both, "2 only in B", 1}, {both, "1 only in A", 1},
		{both, "### main.beta  main.go:10-12\nNote: run B has the same text from line 20 on.\n", 1},
		{both, "### main.main  main.go:15-17\nNote: run B has the same text from line 25 on.\n", 1},
		{both, "### main.same  main.go:1-3\n```", 1},
		{both, "main.alpha", 0},
		{onlyA, "return n + 1", 1}, {onlyA, "main.gamma", 0},
		{onlyB, "### main.alpha  main.go:10-12\n```go\n10 func alpha(n int) int {\n\treturn gamma(n) + 7\n", 1},
		{onlyB, "### main.gamma  main.go:5-7\n", 1}, {onlyB, "return n + 1", 0},
	} {
		if n := strings.Count(want.in, want.name); n != want.times {
			t.Errorf("%q is there %d times, not %d, in\n%s", want.name, n, want.times, want.in)
		}
	}
}
