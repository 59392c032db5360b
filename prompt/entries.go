package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// entry is a function of the index: a declaration, with the closures in it.
type entry struct {
	it      *item
	of      *entries
	name    string // within its package: "(*Table).Render"
	bare    string // with its package's path, as [bareName] gives it
	short   string // with its package's name, likewise
	calls   []int64
	floor   bool     // of the calls: there were more
	callers []*entry // each once, in the order of first calls
	callees []*entry
	root    bool // some call of it has no caller
	score   float64
	near    bool // it was read, or is beside what was
}

// entries are the functions of a package that ran.
type entries struct {
	handle string // "p3"
	path   string // import path
	name   string // what it is called by: "csvview"
	module string // short name of a dependency; "" for the main module
	list   []*entry
	best   float64 // score
}

// enter makes the entries, once.
func (r *Reader) enter() {
	if r.packages != nil {
		return
	}
	scores := r.m.scores(r.score)
	byItem := map[*item]*entry{}
	byPackage := map[string]*entries{}
	for _, fn := range r.m.order {
		it := r.m.items[fn]
		if it == nil {
			continue
		}
		e := byItem[it]
		if e == nil {
			path := cmp.Or(fn.Package, symbol.Package(fn.Name))
			p := byPackage[path]
			if p == nil {
				p = &entries{path: path, name: symbol.Base(path), module: r.moduleOf(it)}
				byPackage[path] = p
				r.packages = append(r.packages, p)
				p.handle = fmt.Sprintf("p%d", len(r.packages))
			}
			e = &entry{it: it, of: p, calls: make([]int64, len(r.m.runs))}
			e.name = oneLine(symbol.Local(it.key))
			if i := strings.IndexByte(it.name, '.'); i > 0 {
				p.name, e.name = it.name[:i], it.name[i+1:]
			}
			e.bare, e.short = bareName(path+"."+e.name), bareName(e.fullName())
			byItem[it] = e
			p.list = append(p.list, e)
			r.all = append(r.all, e)
		}
		if s := scores[fn].score; s > e.score {
			e.score = s
			e.of.best = max(e.of.best, s)
		}
	}
	for i := range r.m.runs {
		r.link(byItem, i)
	}
}

// link counts calls, and says who called whom.
func (r *Reader) link(byItem map[*item]*entry, run int) {
	r.m.runs[run].tree.Walk(func(n *calltree.Node, _ int) bool {
		e := byItem[r.m.items[*n.Func]]
		if e == nil {
			return true
		}
		if r.m.owns(e.it, *n.Func) || e.it.holds[0] == *n.Func {
			e.calls[run] += n.Calls
			e.floor = e.floor || n.Flags.Has(trace.Floor)
		}
		up := n.Parent
		for up != nil && (r.m.items[*up.Func] == nil || byItem[r.m.items[*up.Func]] == e) {
			up = up.Parent // what the compiler made, and the function itself
		}
		if up == nil {
			e.root = true
			return true
		}
		caller := byItem[r.m.items[*up.Func]]
		if !slices.Contains(e.callers, caller) {
			e.callers = append(e.callers, caller)
			caller.callees = append(caller.callees, e)
		}
		return true
	})
}

// moduleOf is the short name of the dependency that an item is of, "" of the main module.
func (r *Reader) moduleOf(it *item) string {
	if mod := moduleOf(it.source.Display); mod != "" {
		return r.m.modules.short[mod]
	}
	return ""
}

// fullName is a function as one asks for it.
func (e *entry) fullName() string { return e.of.name + "." + e.name }

// times says how often a function was called: " x3", " x2/x7" where two runs differ.
func (e *entry) times() string {
	if text := e.timesText(); text != "" && e.floor && len(e.calls) == 1 {
		return text + "+"
	}
	return e.timesText()
}

func (e *entry) timesText() string {
	if len(e.calls) == 1 || e.calls[0] == e.calls[1] {
		return timesText(e.calls[0])
	}
	switch {
	case e.calls[1] == 0:
		return timesText(e.calls[0]) + " A"
	case e.calls[0] == 0:
		return timesText(e.calls[1]) + " B"
	}
	return fmt.Sprintf(" x%s/%s", shortNumber(e.calls[0]), shortNumber(e.calls[1]))
}

func timesText(n int64) string {
	if n <= 1 {
		return ""
	}
	return " x" + shortNumber(n)
}

// shortNumber leaves out what nobody needs of a large number.
func shortNumber(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprint(n/1_000_000, "M")
	case n >= 10_000:
		return fmt.Sprint(n/1_000, "k")
	}
	return fmt.Sprint(n)
}

// byScore orders functions, the most relevant first.
func byScore(list []*entry) []*entry {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(b.score, a.score) })
	return list
}

// Functions is how many functions the index has.
func (r *Reader) Functions() int {
	r.enter()
	return len(r.all)
}

// SourceTokens is about how many tokens all sources have.
func (r *Reader) SourceTokens() (n int) {
	r.enter()
	for _, e := range r.all {
		n += len(e.it.text) / 4
	}
	return n
}

// Shown are the names of the functions whose sources were shown, in the order of first
// calls.
func (r *Reader) Shown() (names []string) {
	for _, e := range r.all {
		if r.shown[e] {
			names = append(names, e.fullName())
		}
	}
	return names
}

// Count is how many tokens a text has.
func (r *Reader) Count(text string) int { return r.o.Counter.Count(text) }

func functionsText(n int) string { return phrase.Plural(n, "function", "functions") }
