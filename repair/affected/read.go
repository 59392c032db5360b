package affected

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/trace"
	"tracerag/trace/symbol"
)

// declared names a declaration as a trace does.
type declared struct {
	Package string `json:"p"` // import path; ends in _test for an external test package
	Name    string `json:"n"` // "F", "(*T).M"
}

// reach is that a test ran a declaration.
type reach struct {
	Test int `json:"t"`
	// Ways are hashes of how: who called it from which line, and whom it called from which line.
	Ways []uint32 `json:"w,omitempty"`
	// Late: what the first of several tests ran for all. This one is another.
	Late bool `json:"l,omitempty"`
}

// reached is a declaration with the tests that ran it.
type reached struct {
	declared
	Tests []reach `json:"r"`
}

// mostWays bounds what is kept of one test and declaration.
const mostWays = 64

// reader finds out which tests ran what.
type reader struct {
	t     *trace.Trace
	pkg   string
	tests map[string]int // by name

	namers func(declared) []declared

	decls []declared
	decl  []int // by function; -1 is none
	group []int // by node: what its tests are kept under
	sets  []set // by group
	open  []int // groups of goroutines that must be asked for
	roots map[int]trace.NodeID
	of    []set // by declaration
	late  []int // by node: index+1 of the last of lates above it
	lates []late
}

type late struct{ decl, above int }

// read returns which of a package's tests ran which declarations. The tests are those that the package
// declares; seen are those of which the trace has a call.
//
// namers returns the functions that name one.
func read(t *trace.Trace, pkg string, tests []string, namers func(declared) []declared) (ran []reached, seen []bool) {
	r := &reader{t: t, pkg: pkg, namers: namers, tests: map[string]int{}, roots: map[int]trace.NodeID{}}
	for i, name := range tests {
		r.tests[name] = i
	}
	r.functions()
	r.groups(len(tests))
	r.spread()
	r.firsts()
	seen = make([]bool, len(tests))
	for g := range r.sets {
		if _, goroutine := r.roots[g]; g > 0 && !goroutine {
			for i := range r.sets[g].each() {
				seen[i] = true
			}
		}
	}
	return r.reached(), seen
}

// functions finds the declarations of the trace's functions.
func (r *reader) functions() {
	known := map[declared]int{}
	r.decl = make([]int, len(r.t.Functions))
	for i, f := range r.t.Functions {
		r.decl[i] = -1
		s := symbol.Parse(f.Name)
		if s.Package == "" || s.Initialiser || f.Package == "main" {
			continue
		}
		d := declared{f.Package, s.Declaration()}
		if d.Name == "init" && s.InitNo >= 0 {
			d.Name = "init " + path.Base(filepath.ToSlash(f.File)) // which one of a file does not matter
		}
		n, ok := known[d]
		if !ok {
			n = len(r.decls)
			known[d] = n
			r.decls = append(r.decls, d)
		}
		r.decl[i] = n
	}
}

// test returns the number of the test that a node is the call of.
func (r *reader) test(n *trace.Node) (int, bool) {
	f := &r.t.Functions[n.Func]
	if f.Package != r.pkg && f.Package != r.pkg+"_test" {
		return 0, false
	}
	i, ok := r.tests[symbol.Local(f.Name)]
	return i, ok
}

// groups gives each node a group: that of a test, of a goroutine, or 0, which has all tests.
func (r *reader) groups(tests int) {
	all := newSet(tests)
	for i := range tests {
		all.add(i)
	}
	r.sets = []set{all}
	ofTest := map[int]int{}
	r.group = make([]int, len(r.t.Nodes))
	for id := range r.t.Nodes {
		n := &r.t.Nodes[id]
		g := 0
		if n.Parent != trace.NoNode {
			g = r.group[n.Parent]
		} else if n.Root == trace.RootGoroutine {
			g = -1
		}
		// A goroutine may call a test function as any other. Only where package testing calls it, it is a test.
		if test, ok := r.test(n); ok && (g == 0 || g < 0 && strings.HasPrefix(n.Go.Func, "testing.")) {
			if g, ok = ofTest[test]; !ok {
				g = len(r.sets)
				ofTest[test] = g
				r.sets = append(r.sets, newSet(tests))
				r.sets[g].add(test)
			}
		}
		if g < 0 {
			g = len(r.sets)
			r.sets = append(r.sets, newSet(tests))
			r.open, r.roots[g] = append(r.open, g), trace.NodeID(id)
		}
		r.group[id] = g
	}
}

// spread finds the tests of goroutines: those of the node that started them, or else of all that ran what
// has the go statement, or else, where that is not recorded, of all that ran what the goroutine's function is
// declared in. That goes on until nothing changes, since goroutines start others.
func (r *reader) spread() {
	names := map[string]int{}
	for i, f := range r.t.Functions {
		names[f.Name] = r.decl[i]
	}
	for {
		r.tally()
		grown := false
		for _, g := range r.open {
			n := &r.t.Nodes[r.roots[g]]
			from := r.sets[0]
			if c := n.Go.Creator.Node(); c != trace.NoNode {
				from = r.sets[r.group[c]]
			} else if d, ok := names[n.Go.Func]; ok && d >= 0 {
				from = r.of[d]
			} else if users := r.users(g); users != nil {
				from = users
			}
			if r.sets[g].join(from) {
				grown = true
			}
		}
		if !grown {
			break
		}
	}
	// Goroutines that only started each other belong to no known test, and so to all.
	for _, g := range r.open {
		if r.sets[g].len() == 0 {
			r.sets[g].join(r.sets[0])
		}
	}
	r.tally()
}

// users returns the tests that may have handed the function of a goroutine to whoever started it: a
// literal comes from the declaration around it, another function from one that names it. nil: unknown.
func (r *reader) users(group int) set {
	n := &r.t.Nodes[r.roots[group]]
	d := r.decl[n.Func]
	if d < 0 {
		return nil
	}
	var from []int
	if parts := symbol.Parse(r.t.Functions[n.Func].Name); len(parts.Tail) > 0 && !parts.MethodValue() {
		if !r.elsewhere(d, group) {
			return nil
		}
		from = []int{d}
	} else {
		for _, by := range r.namers(r.decls[d]) {
			if i := slices.Index(r.decls, by); i >= 0 && i != d {
				from = append(from, i)
			}
		}
	}
	var out set
	for _, i := range from {
		if out == nil {
			out = newSet(len(r.tests))
		}
		out.join(r.of[i])
	}
	return out
}

// elsewhere reports whether a declaration ran outside of a goroutine's own calls.
func (r *reader) elsewhere(decl, group int) bool {
	for id := range r.t.Nodes {
		if r.decl[r.t.Nodes[id].Func] == decl && r.group[id] != group {
			return true
		}
	}
	return false
}

// tally finds the tests of declarations.
func (r *reader) tally() {
	r.of = make([]set, len(r.decls))
	for d := range r.of {
		r.of[d] = newSet(len(r.tests))
	}
	done := map[[2]int]bool{}
	for id := range r.t.Nodes {
		if d := r.decl[r.t.Nodes[id].Func]; d >= 0 && !done[[2]int{d, r.group[id]}] {
			done[[2]int{d, r.group[id]}] = true
			r.of[d].join(r.sets[r.group[id]])
		}
	}
}

// above returns the node that called a node, or that started its goroutine.
func (r *reader) above(id trace.NodeID) trace.NodeID {
	n := &r.t.Nodes[id]
	if n.Parent != trace.NoNode {
		return n.Parent
	}
	return n.Go.Creator.Node()
}

// firsts finds what only the first of several tests ran that came to its caller.
func (r *reader) firsts() {
	came := map[int]int{} // declaration: the group that came to it first
	only := map[[2]int]int{}
	edge := func(id trace.NodeID) (key [2]int, ok bool) {
		up := r.above(id)
		if up == trace.NoNode {
			return key, false
		}
		key = [2]int{r.decl[r.t.Nodes[up].Func], r.decl[r.t.Nodes[id].Func]}
		return key, key[0] >= 0 && key[1] >= 0 && key[0] != key[1]
	}
	for i := range r.t.Nodes {
		id := trace.NodeID(i)
		if d := r.decl[r.t.Nodes[id].Func]; d >= 0 {
			if _, ok := came[d]; !ok {
				came[d] = r.group[id]
			}
		}
		if key, ok := edge(id); ok {
			up := r.group[r.above(id)]
			if g, ok := only[key]; ok && g != up {
				up = -1
			}
			only[key] = up
		}
	}
	r.late = make([]int, len(r.t.Nodes))
	for i := range r.t.Nodes {
		id := trace.NodeID(i)
		up := r.above(id)
		if up == trace.NoNode {
			continue
		}
		r.late[i] = r.late[up] // of a creator that comes later: none
		key, ok := edge(id)
		if !ok || only[key] <= 0 || only[key] != came[key[0]] || r.of[key[0]].len() < 2 {
			continue
		}
		r.lates = append(r.lates, late{key[0], r.late[i]})
		r.late[i] = len(r.lates)
	}
}

// reached makes the result, in the order of names.
func (r *reader) reached() []reached {
	type key struct{ decl, group int }
	ways := map[key]map[uint32]bool{}
	lates := map[int]set{}
	way := func(k key, w uint32) {
		m := ways[k]
		if m == nil {
			m = map[uint32]bool{}
			ways[k] = m
		}
		if w != 0 && len(m) < mostWays {
			m[w] = true
		}
	}
	for i := range r.t.Nodes {
		n := &r.t.Nodes[i]
		d := r.decl[n.Func]
		if d >= 0 {
			k := key{d, r.group[i]}
			way(k, 0)
			for l := r.late[i]; l > 0; l = r.lates[l-1].above {
				if lates[d] == nil {
					lates[d] = newSet(len(r.tests))
				}
				lates[d].join(r.of[r.lates[l-1].decl])
			}
		}
		if n.Parent == trace.NoNode {
			continue
		}
		up := r.decl[r.t.Nodes[n.Parent].Func]
		if d >= 0 {
			way(key{d, r.group[i]}, hash(1, r.t.Nodes[n.Parent].Func, n.CallLine, n.Calls))
		}
		if up >= 0 {
			way(key{up, r.group[n.Parent]}, hash(2, n.Func, n.CallLine, 1))
		}
	}
	byTest := make([]map[int]*reach, len(r.decls))
	for d := range byTest {
		byTest[d] = map[int]*reach{}
	}
	for k, m := range ways {
		list := make([]uint32, 0, len(m))
		for w := range m {
			list = append(list, w)
		}
		for test := range r.sets[k.group].each() {
			x := byTest[k.decl][test]
			if x == nil {
				x = &reach{Test: test}
				byTest[k.decl][test] = x
			}
			x.Ways = append(x.Ways, list...)
		}
	}
	var out []reached
	for d := range r.decls {
		for test := range lates[d].each() {
			if byTest[d][test] == nil {
				byTest[d][test] = &reach{Test: test, Late: true}
			}
		}
		one := reached{declared: r.decls[d]}
		for _, x := range byTest[d] {
			slices.Sort(x.Ways)
			x.Ways = slices.Compact(x.Ways)
			x.Ways = x.Ways[:min(len(x.Ways), mostWays)]
			one.Tests = append(one.Tests, *x)
		}
		slices.SortFunc(one.Tests, func(a, b reach) int { return cmp.Compare(a.Test, b.Test) })
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b reached) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Name, b.Name))
	})
	return out
}

// hash tells ways apart. Of the number of calls only its order of magnitude counts.
func hash(kind int, f trace.FuncID, line int, calls int64) uint32 {
	size := 0
	for ; calls > 1; calls /= 4 {
		size++
	}
	h := fnv.New32a()
	var b [16]byte
	binary.LittleEndian.PutUint32(b[:], uint32(f))
	binary.LittleEndian.PutUint32(b[4:], uint32(line))
	b[8], b[9] = byte(kind), byte(size)
	_, _ = h.Write(b[:])
	return max(h.Sum32(), 1)
}

func (d declared) String() string { return fmt.Sprintf("%s.%s", d.Package, d.Name) }
