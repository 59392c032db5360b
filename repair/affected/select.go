package affected

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/trace/symbol"
)

// Change is a declaration that changes, or is new, or goes.
type Change struct {
	File string // slash path below the root
	// Symbol as package code has it: "F", "(*T).M", "init#2"; of a group any of its names. "": anything in
	// the file may change.
	Symbol string
}

// Selection is the tests that a change concerns.
type Selection struct {
	// Tests are ordered so that each is likely to show something that those before it don't.
	Tests []Test
	// First is how many of them fit into the share of the suite's time.
	First int
	// Seconds is about how long the first ones take, without building.
	Seconds float64
	// Whole are packages of which nothing is known: all their tests are among the first.
	Whole []Whole
	// Notes say what was chosen for a reason of its own, and what no test runs; a sentence each.
	Notes []string

	why map[Test]string
}

// Why says what makes a test one of them: "ran F". "": it belongs to a package that is chosen as a whole.
func (s *Selection) Why(t Test) string { return s.why[t] }

// Whole is a package all of whose tests are chosen.
type Whole struct{ Package, Why string }

// want is what a Selection is made of.
type want struct {
	m       *Map
	whole   map[string]string // packages
	sure    map[Test]bool     // chosen whatever they ran
	reached map[Test]map[uint64]bool
	why     map[Test]string
	notes   []string
}

func newWant(m *Map) *want {
	return &want{m: m, whole: map[string]string{}, sure: map[Test]bool{}, reached: map[Test]map[uint64]bool{}, why: map[Test]string{}}
}

// reason notes why a test is chosen; the first reason counts.
func (w *want) reason(t Test, why string) {
	if w.why[t] == "" {
		w.why[t] = why
	}
}

// concerned lists the packages with tests that changes concern.
func (m *Map) concerned(changes []Change) []*pkg {
	var dirs []string
	for _, c := range changes {
		if p := m.packageOf(c.File); p != nil && !slices.Contains(dirs, p.path) {
			dirs = append(dirs, p.path)
		}
	}
	return slices.DeleteFunc(m.source.dependents(dirs), func(p *pkg) bool { return m.options.Only != nil && !m.options.Only(p.path) })
}

// Missing lists the packages that Select would record first.
func (m *Map) Missing(changes []Change) (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.concerned(changes) {
		if !m.known(p) {
			out = append(out, p.path)
		}
	}
	return out
}

// Select chooses the tests that ran what changes. It records what is missing first. The test programs of
// the packages that are built cost nothing to start.
func (m *Map) Select(ctx context.Context, changes []Change, built ...string) (*Selection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := newWant(m)
	deps := m.concerned(changes)
	var names []string
	for _, p := range deps {
		names = append(names, p.path)
	}
	if len(names) > 0 {
		if err := m.update(ctx, names); err != nil {
			return nil, err
		}
	}
	for _, p := range deps {
		switch prog := m.programs[p.path]; {
		case prog == nil:
			w.whole[p.path] = "its tests are not recorded"
		case prog.Failed != "":
			w.whole[p.path] = prog.Failed
		default:
			for i, t := range prog.Tests {
				if !t.Seen {
					w.sure[Test{p.path, prog.Tests[i].Name}] = true
					w.reason(Test{p.path, prog.Tests[i].Name}, "was not run to its end when its package was recorded")
				}
			}
		}
	}
	for _, c := range changes {
		w.change(c, deps)
	}
	w.starters(deps)
	return w.order(deps, built), nil
}

// change adds the tests of one change.
func (w *want) change(c Change, deps []*pkg) {
	p := w.m.packageOf(c.File)
	if p == nil {
		w.notes = append(w.notes, fmt.Sprintf("%s is in no package", c.File))
		return
	}
	text, err := code.Read(w.m.source.root, c.File)
	f := code.Parse(text)
	var d *code.Decl
	for i := range f.Decls {
		if x := &f.Decls[i]; c.Symbol != "" && (x.Symbol() == c.Symbol || slices.Contains(x.Names, c.Symbol)) {
			d = x
			break
		}
	}
	isTestFile := strings.HasSuffix(c.File, "_test.go")
	switch {
	case c.Symbol == "" || !strings.HasSuffix(c.File, ".go") || err != nil && c.Symbol == "":
		for _, q := range w.m.source.dependents([]string{p.path}) {
			if w.whole[q.path] == "" && (q == p || !isTestFile) {
				w.whole[q.path] = c.File + " changes"
			}
		}
		return
	case isTestFile && (isTest(c.Symbol, "Test") || isTest(c.Symbol, "Fuzz") || isTest(c.Symbol, "Example")):
		if c.Symbol != "TestMain" {
			w.sure[Test{p.path, c.Symbol}] = true
			w.reason(Test{p.path, c.Symbol}, "changes")
			return
		}
	}
	name := c.Symbol
	if d != nil {
		name = d.Name
	} else if i := strings.LastIndexByte(name, '#'); i > 0 {
		name = name[:i]
	}
	at := declared{p.path, name}
	if isTestFile && strings.HasSuffix(f.Package, "_test") {
		at.Package += "_test"
	}
	if name == "init" {
		at.Name = "init " + path.Base(filepath.ToSlash(c.File))
	}
	if d != nil && d.Kind.Callable() && (w.ran(at, deps, "ran "+c.Symbol) || !w.invisible(at, deps)) {
		return
	}
	var group []string
	if d != nil {
		group = d.Names
	}
	found := false
	for _, by := range w.m.source.namers(at.Package, name, group, func(x declared) bool { return w.invisible(x, deps) }) {
		if w.ran(by, deps, "ran "+by.Name+", which names "+c.Symbol) {
			found = true
		}
	}
	if !found && len(w.whole) == 0 {
		w.notes = append(w.notes, fmt.Sprintf("no test runs what uses %s (%s)", c.Symbol, c.File))
	}
}

// ran adds the tests that ran a declaration, and reports whether any did.
func (w *want) ran(d declared, deps []*pkg, why string) (any bool) {
	for at, p := range deps {
		prog := w.m.programs[p.path]
		if prog == nil {
			continue
		}
		i, ok := prog.index[d]
		if !ok {
			continue
		}
		for _, r := range prog.Ran[i].Tests {
			any = true
			t := Test{p.path, prog.Tests[r.Test].Name}
			w.reason(t, why)
			if w.reached[t] == nil {
				w.reached[t] = map[uint64]bool{}
			}
			for _, way := range r.Ways { // of each program its own: they name functions by number
				w.reached[t][uint64(way)|uint64(i<<8|at%256)<<32] = true
			}
		}
	}
	return any
}

// invisible reports whether a function may have run and left no trace.
func (w *want) invisible(d declared, deps []*pkg) bool {
	w.m.source.learn()
	if w.m.source.bare[d] {
		return true
	}
	for _, p := range deps {
		if prog := w.m.programs[p.path]; prog != nil {
			for _, name := range prog.Unseen {
				if s := symbol.Parse(name); s.Package != "" && symbol.Unescape(s.Package) == d.Package && s.Declaration() == d.Name {
					return true
				}
			}
		}
	}
	return false
}

// starters adds the tests that may have started a program: what a program runs is not recorded.
func (w *want) starters(deps []*pkg) {
	s := w.m.source
	s.learn()
	for _, name := range []string{"Command", "CommandContext", "StartProcess", "ForkExec"} {
		for _, by := range s.named[name] {
			if !by.decl.Kind.Callable() || name[0] == 'C' && !imports(by.file, "os/exec") {
				continue
			}
			d := by.declared()
			for _, p := range deps {
				prog := w.m.programs[p.path]
				if prog == nil {
					continue
				}
				if i, ok := prog.index[d]; ok {
					for _, r := range prog.Ran[i].Tests {
						t := Test{p.path, prog.Tests[r.Test].Name}
						w.reason(t, "may start programs, whose calls are not recorded")
						if w.reached[t] == nil {
							w.reached[t] = map[uint64]bool{}
						}
					}
				}
			}
		}
	}
}

func imports(f *code.File, path string) bool {
	return slices.ContainsFunc(f.Imports, func(i code.Import) bool { return i.Path == path })
}
