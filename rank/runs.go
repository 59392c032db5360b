package rank

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"tracerag/calltree"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// What is ranked of recorded runs are declarations. The closures within a function, and
// the instantiations of a generic one, are the function: their calls are its calls,
// as their source is in its source.

// Run is a recorded run whose functions are ranked: those of its tree, which may be pruned.
type Run struct {
	Trace *trace.Trace
	Tree  *calltree.Tree
	// Source returns the text of a function of the trace.
	Source func(trace.Function) source.Text
}

// Evidence is what else is known of the program. All of it may be missing.
type Evidence struct {
	// Baselines are runs without the feature that is asked about.
	Baselines []*trace.Trace
	// Passing are runs of the same program that did not fail. They are read
	// one by one.
	Passing iter.Seq[*trace.Trace]
	// Others are the texts of the functions of the program's modules, to tell which words
	// are rare. Those that ran may be among them.
	Others []Texts
	// Kept keeps what was counted of them.
	Kept Keeper
}

// Declaration is what is known of a function of recorded runs beside its place.
type Declaration struct {
	Name     string // "csvview.(*Table).Render"
	Symbol   string // linker name
	Position string // "internal/csvview/table.go:120-158"; "" unknown
	Calls    int64  // in all runs
	Source   source.Text
}

// Ranking is an answer.
type Ranking struct {
	Functions []Ranked // the most relevant first
	Corpus    Corpus   // what was ranked, for whoever measures other weights
	why       []string // of each of them
	place     map[trace.Function]int
}

// Score returns the score of a function of one of the runs, and why it has it;
// 0 of one that is in none of their trees.
func (r *Ranking) Score(f trace.Function) (score float64, why string) {
	i, ok := r.place[f]
	if !ok {
		return 0, "not in the call tree"
	}
	return r.Functions[i].Score, r.why[i]
}

// Nothing reports whether no function matches the question: the order is that of the first
// calls.
func (r *Ranking) Nothing() bool { return len(r.Functions) > 0 && r.Functions[0].Score == 0 }

// Runs ranks the functions of one recorded run, or of several together. A run of a test
// adds the test's name to the question.
func Runs(question string, runs []Run, e Evidence) *Ranking {
	c := collect(runs)
	q := Question{Text: question}
	for _, r := range runs {
		if t := testOf(r.Trace); t.Package != "" {
			q.Test, q.Package = t.Name, t.Package
			break
		}
	}
	in := Corpus{Functions: make([]Function, len(c.decls))}
	for i := range c.decls {
		in.Functions[i] = c.function(i)
	}
	c.startup(runs, e.Baselines, in.Functions)
	if q.Package != "" && runs[0].Trace.Exit.Known() && runs[0].Trace.Exit.Failed() {
		c.reporting(runs, in.Functions)
	}
	if e.Passing != nil {
		for t := range e.Passing {
			in.Passing++
			seen := map[int]bool{}
			for name := range called(t) {
				if i, ok := c.byName[name]; ok && !seen[i] {
					seen[i] = true
					in.Functions[i].Passing++
				}
			}
		}
	}
	if e.Others != nil {
		in.modules, in.kept = e.Others, e.Kept
		in.Background = func(yield func(Function) bool) {
			for _, m := range e.Others {
				for f := range seqOf(m.Functions) {
					if !yield(f) {
						return
					}
				}
			}
		}
	}
	ranked := Rank(q, in, Default)
	out := &Ranking{Functions: ranked, Corpus: in, why: make([]string, len(ranked)), place: make(map[trace.Function]int, len(c.of))}
	at := make([]int, len(ranked))
	for i := range ranked {
		at[ranked[i].Function] = i
		ranked[i].Declaration = c.decls[ranked[i].Function].Declaration
		out.why[i] = ranked[i].Why()
	}
	for f, i := range c.of {
		out.place[f] = at[i]
	}
	return out
}

// decl is a declaration of which something ran.
type decl struct {
	Declaration
	pkg     string
	callees []int
}

// collection is the declarations of the runs, in the order of their first calls.
type collection struct {
	decls  []decl
	of     map[trace.Function]int
	byName map[string]int // by the linker name of each function of a declaration
}

// key tells declarations apart: by their place, or by their name where that
// is not known. Function names of different packages main are equal.
type key struct{ file, decl string }

func collect(runs []Run) *collection {
	c := &collection{of: map[trace.Function]int{}, byName: map[string]int{}}
	known := map[key]int{}
	type edge struct{ from, to int }
	edges := map[edge]bool{}
	for _, r := range runs {
		r.Tree.Walk(func(n *calltree.Node, _ int) bool {
			i, ok := c.of[*n.Func]
			if !ok {
				i = c.add(r, *n.Func, known)
			}
			c.decls[i].Calls += n.Calls
			if n.Parent != nil {
				if e := (edge{c.of[*n.Parent.Func], i}); e.from != e.to && !edges[e] {
					edges[e] = true
					c.decls[e.from].callees = append(c.decls[e.from].callees, e.to)
				}
			}
			return true
		})
	}
	return c
}

// add finds the declaration of a function that was not met before.
func (c *collection) add(r Run, f trace.Function, known map[key]int) int {
	t := r.Source(f)
	symbolName := symbol.Canonical(f.Name)
	if t.Kind == source.Closure && t.Parent != "" {
		// the declaration around it, from where the literal is
		if around := r.Source(trace.Function{Name: t.Parent, Package: f.Package, File: f.File}); around.Kind == source.Declared {
			symbolName, t = t.Parent, around
			if !strings.HasPrefix(around.Signature, "func") {
				symbolName = f.Name // of a variable's initialiser: what the call tree calls it
			}
		}
	}
	k := key{t.Display, t.Decl}
	if t.Display == "" || t.Decl == "" || t.Decl == "init" || t.Decl == "_" {
		k = key{t.Display, symbolName}
	}
	i, ok := known[k]
	if !ok {
		i = len(c.decls)
		known[k] = i
		d := decl{Declaration: Declaration{Name: symbol.Short(symbolName), Symbol: symbolName, Source: t}, pkg: f.Package}
		if t.Display != "" {
			d.Position = t.Display
			if t.Start > 0 {
				d.Position += fmt.Sprintf(":%d-%d", t.Start, t.End)
			}
		}
		c.decls = append(c.decls, d)
	}
	c.of[f] = i
	c.byName[f.Name] = i
	return i
}

// function returns what a declaration is ranked by.
func (c *collection) function(i int) Function {
	d := &c.decls[i]
	name := d.Source.Decl
	if name == "" {
		name = symbol.Local(d.Symbol)
	}
	return Function{
		Package: d.pkg, Name: name, Doc: d.Source.Doc, Text: d.Source.Body,
		Test: strings.HasSuffix(d.Source.Display, "_test.go"), Callees: d.callees,
	}
}

// startup marks what the baselines called as often as the runs did.
func (c *collection) startup(runs []Run, baselines []*trace.Trace, fs []Function) {
	if len(baselines) == 0 {
		return
	}
	without := make([]int64, len(fs))
	with := make([]int64, len(fs))
	count := func(t *trace.Trace, into []int64) {
		for name, n := range called(t) {
			if i, ok := c.byName[name]; ok {
				into[i] += n
			}
		}
	}
	for _, b := range baselines {
		count(b, without)
	}
	for _, r := range runs {
		count(r.Trace, with)
	}
	for i := range fs {
		fs[i].Startup = without[i] > 0 && without[i] >= with[i]
	}
}

// called returns how often each function of a trace was called, by linker name.
func called(t *trace.Trace) map[string]int64 {
	counts := make([]int64, len(t.Functions))
	for i := range t.Nodes {
		counts[t.Nodes[i].Func] += max(t.Nodes[i].Calls, 1)
	}
	out := make(map[string]int64, len(counts))
	for i, n := range counts {
		if n > 0 {
			out[t.Functions[i].Name] += n
		}
	}
	return out
}

// testOf returns the test that a run was of. A run of "go test -run X" is of X if
// that is the name of one test; else only its package is known.
func testOf(t *trace.Trace) trace.Test {
	if t.Test.Name != "" {
		return t.Test
	}
	pkg, ok := strings.CutSuffix(t.Program.MainPath, ".test")
	if !ok {
		return trace.Test{}
	}
	out := trace.Test{Package: pkg}
	for i, arg := range t.Command {
		name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || name != "run" && name != "test.run" {
			continue
		}
		if !has && i+1 < len(t.Command) {
			value = t.Command[i+1]
		}
		out.Name = oneTest(value)
	}
	return out
}

// oneTest returns the test that a pattern of go test's selects, if it names one:
// "^TestX$/^sub$" is TestX/sub.
func oneTest(pattern string) string {
	var names []string
	for part := range strings.SplitSeq(pattern, "/") {
		name := strings.TrimSuffix(strings.TrimPrefix(part, "^"), "$")
		if name == "" || strings.ContainsAny(name, `\.+*?()|[]{}^$`) {
			return ""
		}
		names = append(names, name)
	}
	return path.Join(names...)
}
