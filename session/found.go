package session

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/prompt"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
	"tracerag/visible"
)

// Found is a declaration that a question may be about, found in the source without a run.
type Found struct {
	knowledge.Decl
	Score float64 // the higher the more relevant
	Why   string
}

// Callers is what is known of calls in the source. A [knowledge.Reader] is one.
type Callers interface {
	Callers(ctx context.Context, ids []int64) ([]knowledge.Edge, error)
	Decls(ctx context.Context, ids []int64) ([]knowledge.Decl, error)
}

// Search is what was searched for a question that is asked without a run.
type Search struct {
	Repository knowledge.Repository
	Found      []Found // the most relevant first; those that are no functions are left out
	Callers    Callers
	Notes      []string // what the search lacks
}

// FoundInput is what a prompt about found functions is made of: each is below the
// functions that call it, up to mostCallers of them, in place of a call tree.
func (s *Session) FoundInput(ctx context.Context, question string, found *Search) (prompt.Input, error) {
	w := &foundTree{root: found.Repository.Root, decls: map[int64]*knowledge.Decl{}, scores: map[trace.Function]*Found{}}
	if err := w.read(ctx, found); err != nil {
		return prompt.Input{}, err
	}
	in := prompt.Input{
		Question: question, Static: true,
		Runs: []prompt.Run{{
			Title: found.Repository.Name + " " + found.Repository.Snapshot.String(),
			Tree:  w.tree(), Notes: found.Notes,
		}},
	}
	if s.Mask != nil {
		w.learn(s.Mask)
		in.Mask = s.Mask.Redactor()
	}
	resolver := source.New(w.sources(&found.Repository))
	in.Source = func(f trace.Function) source.Text {
		t := resolver.Find(sourceFunc(&f))
		if rel, err := filepath.Rel(w.root, t.Path); err == nil && t.Path != "" {
			t.Display = filepath.ToSlash(rel)
		}
		return t
	}
	in.Named = func(_ trace.Function, t source.Text) []source.Decl {
		decls := resolver.Named(t)
		for i := range decls {
			if rel, err := filepath.Rel(w.root, decls[i].Path); err == nil && filepath.IsLocal(rel) {
				decls[i].Display = filepath.ToSlash(rel)
			}
		}
		return decls
	}
	in.Score = func(f trace.Function) (float64, string) {
		if found := w.scores[f]; found != nil {
			return found.Score, found.Why
		}
		return 0, ""
	}
	return in, nil
}

// Located returns what an answer of package locate found, with what a prompt needs of it: the
// functions of the repository that is meant most likely. The error is a [*NothingFoundError] if
// it found nothing.
func Located(ctx context.Context, store knowledge.Reader, a *locate.Answer) (*Search, error) {
	if len(a.Functions) == 0 || len(a.Repositories) == 0 {
		return nil, &NothingFoundError{}
	}
	repositories, err := store.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	best := a.Functions[0].Repository
	s := &Search{Callers: store}
	var others []string
	for _, r := range repositories {
		if r.Name == best {
			s.Repository = r
		}
	}
	var ids []int64
	by := map[int64]*locate.Function{}
	for i := range a.Functions {
		f := &a.Functions[i]
		if f.Repository != best {
			if !slices.Contains(others, f.Repository) {
				others = append(others, f.Repository)
			}
			continue
		}
		ids = append(ids, f.ID)
		by[f.ID] = f
	}
	decls, err := store.Decls(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, d := range decls {
		f := by[d.ID]
		d.Line, d.EndLine = f.Line, f.EndLine // as the file is now
		s.Found = append(s.Found, Found{d, f.Score, locate.Why(f.Reasons)})
	}
	slices.SortStableFunc(s.Found, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	if len(others) > 0 {
		s.Notes = append(s.Notes, "functions of "+strings.Join(others, ", ")+" were found, too, and are not shown")
	}
	switch s.Repository.Calls {
	case knowledge.NoCalls:
		s.Notes = append(s.Notes, "calls in the source are not known: callers are those of recorded runs")
	case knowledge.OldCalls:
		s.Notes = append(s.Notes, "callers are those of an earlier state of the files")
	}
	if len(a.Stale) > 0 {
		s.Notes = append(s.Notes, "files that changed since they were indexed: "+visible.Line(strings.Join(a.Stale, ", ")))
	}
	return s, nil
}

// NothingFoundError says that no function has anything of a question.
type NothingFoundError struct{}

func (*NothingFoundError) Error() string { return "nothing in the source matches the question" }

// mostCallers is how many callers of a function are shown. More would say less: what
// everything calls is a helper.
const mostCallers = 3

// foundTree makes a tree of callers.
type foundTree struct {
	root    string
	found   []*Found
	decls   map[int64]*knowledge.Decl
	callers map[int64][]int64 // of what was found, the best first
	scores  map[trace.Function]*Found
}

// read looks up the callers of what was found.
func (w *foundTree) read(ctx context.Context, s *Search) error {
	var ids []int64
	rank := map[int64]int{}
	for i := range s.Found {
		f := &s.Found[i]
		if _, ok := rank[f.ID]; ok || !f.Kind.Callable() {
			continue
		}
		rank[f.ID] = len(w.found)
		w.found = append(w.found, f)
		w.decls[f.ID] = &f.Decl
		w.scores[w.function(&f.Decl)] = f
		ids = append(ids, f.ID)
	}
	edges, err := s.Callers.Callers(ctx, ids)
	if err != nil {
		return err
	}
	// What was found itself tells most about a call, then what ran, then what is named.
	order := func(e knowledge.Edge) (found, kind int) {
		found = len(w.found)
		if r, ok := rank[e.Caller]; ok {
			found = r
		}
		kind = int(e.Kind)
		if e.Kind == knowledge.Ran {
			kind = 0
		}
		return found, kind
	}
	slices.SortStableFunc(edges, func(a, b knowledge.Edge) int {
		foundA, kindA := order(a)
		foundB, kindB := order(b)
		return cmp.Or(cmp.Compare(foundA, foundB), cmp.Compare(kindA, kindB), cmp.Compare(a.Caller, b.Caller))
	})
	w.callers = map[int64][]int64{}
	var others []int64
	for _, e := range edges {
		list := w.callers[e.Callee]
		if e.Caller == e.Callee || len(list) == mostCallers || slices.Contains(list, e.Caller) {
			continue
		}
		w.callers[e.Callee] = append(list, e.Caller)
		if _, ok := rank[e.Caller]; !ok {
			others = append(others, e.Caller)
		}
	}
	slices.Sort(others)
	decls, err := s.Callers.Decls(ctx, slices.Compact(others))
	for i := range decls {
		w.decls[decls[i].ID] = &decls[i]
	}
	return err
}

// tree puts each found function below its first caller, with what it calls below it, and
// again, alone, below each other one.
func (w *foundTree) tree() *calltree.Tree {
	kids := map[int64][]int64{}
	var order []int64
	enter := func(id int64) {
		if _, ok := kids[id]; !ok {
			kids[id] = nil
			order = append(order, id)
		}
	}
	below := map[int64]int64{} // the first caller
	circle := func(id, caller int64) bool {
		for c, ok := caller, true; ok; c, ok = below[c] {
			if c == id {
				return true
			}
		}
		return false
	}
	for _, f := range w.found {
		enter(f.ID)
		for _, caller := range w.callers[f.ID] {
			if w.decls[caller] == nil {
				continue
			}
			if _, ok := below[f.ID]; !ok && !circle(f.ID, caller) {
				below[f.ID] = caller
			}
			enter(caller)
			kids[caller] = append(kids[caller], f.ID)
		}
	}
	var roots []*calltree.Node
	var write func(id int64) *calltree.Node
	write = func(id int64) *calltree.Node {
		f := w.function(w.decls[id])
		n := &calltree.Node{Func: &f}
		for _, kid := range kids[id] {
			if below[kid] == id {
				n.Children = append(n.Children, write(kid))
			} else {
				other := w.function(w.decls[kid])
				n.Children = append(n.Children, &calltree.Node{Func: &other})
			}
		}
		return n
	}
	for _, id := range order {
		if _, ok := below[id]; !ok {
			roots = append(roots, write(id))
		}
	}
	return calltree.Of(roots...)
}

// function is a declaration as a binary would name it.
func (w *foundTree) function(d *knowledge.Decl) trace.Function {
	pkg := d.Package
	if d.PackageName == "main" {
		pkg = "main"
	}
	return trace.Function{
		Name: symbol.Join(pkg, d.Name), Package: d.Package,
		File: filepath.Join(w.root, filepath.FromSlash(d.Path)), StartLine: d.Line,
	}
}

// learn shows the masker the files of the functions, before any of them is masked: a literal may
// be known as a password by its name in one place, and be a mere argument in another.
func (w *foundTree) learn(m *Masker) {
	var paths []string
	for _, d := range w.decls {
		paths = append(paths, d.Path)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if text, err := code.Read(w.root, path); err == nil {
			m.LearnText(string(text)) // what can't be read is missing in the prompt, too
		}
	}
}

// sources says where the repository's files are. The module of most found functions is
// the main one.
func (w *foundTree) sources(r *knowledge.Repository) source.Config {
	count := map[string]int{}
	for _, f := range w.found {
		count[f.Module]++
	}
	modules := slices.Clone(r.Modules)
	slices.SortStableFunc(modules, func(a, b code.Module) int { return count[b.Path] - count[a.Path] })
	c := source.Config{Dir: w.root}
	for i, m := range modules {
		at := source.Module{Path: m.Path, Dir: filepath.Join(w.root, filepath.FromSlash(m.Dir))}
		if i == 0 {
			c.Main = at
		} else {
			c.Deps = append(c.Deps, at)
		}
	}
	return c
}
