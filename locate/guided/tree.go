package guided

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/locate/treesearch"
	"tracerag/rank"
)

// Tree is what a store knows, as package treesearch searches it: repositories, their packages,
// the files of these and the functions in them, which are the leaves. It has code of the program
// alone.
//
// What is below a node comes in the order of words: a package or a file is as good as its best
// function. That is the order of package locate, which begins with what ran if the question has a run;
// then that of the word index; then that of the source.
//
// A tree is for one search.
type Tree struct {
	Root treesearch.Node

	ctx    context.Context
	store  knowledge.Reader
	found  *locate.Found
	in     string
	places map[int64]int          // of functions in the order of words, by the declarations' numbers
	best   map[branch]int         // places of the best functions of files and packages
	words  []int64                // functions in that order
	repos  []knowledge.Repository // the likeliest first
	nodes  []node
	leaves map[int64]treesearch.Node // by the declarations' numbers
	err    error
}

// branch is a file, a package or a repository.
type branch struct {
	repository int64
	pkg, file  string
}

// node is a node of a tree: a repository, package, file, or a function.
type node struct {
	branch
	files []knowledge.File // of a package
	decls []knowledge.Decl // of a file: its functions
	decl  *knowledge.Decl  // of a function
}

// Of the order of words: how many functions of the word index come behind those that package
// locate found, and how many bytes of a report are looked for there.
const (
	indexed = 5000
	asked   = 24 << 10
)

// Ceilings, for files and functions that a machine wrote: what is below a file, and what a
// function may call.
const (
	mostBelow      = 1000
	mostReferences = 20
)

// NewTree makes the tree of a store for a question, with what package locate found for it.
func NewTree(ctx context.Context, store knowledge.Reader, q locate.Question, f *locate.Found) (*Tree, error) {
	t := &Tree{ctx: ctx, store: store, found: f, places: map[int64]int{}, best: map[branch]int{}, leaves: map[int64]treesearch.Node{}}
	if q.In != "" {
		t.in = path.Clean(filepath.ToSlash(q.In))
	}
	t.repos, _ = f.Repositories()
	for _, d := range f.Candidates() {
		t.place(&d)
	}
	terms, _ := rank.Terms(rank.Question{Text: q.Text[:min(len(q.Text), asked)], Test: q.Test, Package: q.Package}, rank.Default)
	if len(terms) > 0 {
		hits, err := store.Search(ctx, knowledge.Query{Terms: terms, Files: t.in, Kinds: []code.Kind{code.Func, code.Method}, Limit: indexed})
		if err != nil {
			return nil, err
		}
		for i := range hits {
			t.place(&hits[i].Decl)
		}
	}
	t.Root = t.add(node{})
	return t, nil
}

// place gives a function the next place in the order of words.
func (t *Tree) place(d *knowledge.Decl) {
	if _, ok := t.places[d.ID]; ok {
		return
	}
	at := len(t.words)
	t.places[d.ID] = at
	t.words = append(t.words, d.ID)
	for _, p := range []branch{{d.Repository, d.Package, d.Path}, {d.Repository, d.Package, ""}, {d.Repository, "", ""}} {
		if _, ok := t.best[p]; !ok {
			t.best[p] = at
		}
	}
}

// Words returns the first functions in the order of words.
func (t *Tree) Words(n int) ([]treesearch.Node, error) {
	decls, err := t.store.Decls(t.ctx, t.words[:min(n, len(t.words))])
	if err != nil {
		return nil, err
	}
	slices.SortFunc(decls, func(a, b knowledge.Decl) int { return cmp.Compare(t.places[a.ID], t.places[b.ID]) })
	out := make([]treesearch.Node, len(decls))
	for i := range decls {
		out[i] = t.leaf(&decls[i])
	}
	return out, nil
}

// Decl returns the function of a leaf; nil of other nodes.
func (t *Tree) Decl(n treesearch.Node) *knowledge.Decl { return t.nodes[n].decl }

// Place is where a leaf is in the order of words, from 0.
func (t *Tree) Place(n treesearch.Node) int {
	if d := t.nodes[n].decl; d != nil {
		return t.placeOf(d)
	}
	return len(t.words)
}

// fail keeps the error by which a node has nothing below it that has something in the store.
func (t *Tree) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Children implements [treesearch.Graph].
func (t *Tree) Children(n treesearch.Node) []treesearch.Node {
	x := t.nodes[n]
	var out []treesearch.Node
	var err error
	switch {
	case n == t.Root:
		for _, r := range t.repos {
			out = append(out, t.add(node{branch: branch{repository: r.ID}}))
		}
	case x.decl != nil:
	case x.file != "":
		for i := range x.decls {
			out = append(out, t.leaf(&x.decls[i]))
		}
	case x.pkg != "":
		out, err = t.filesOf(&x)
	default:
		out, err = t.packagesOf(x.repository)
	}
	t.fail(err)
	return out
}

// References implements [treesearch.Graph]: what a function calls.
func (t *Tree) References(n treesearch.Node) []treesearch.Node {
	d := t.nodes[n].decl
	if d == nil {
		return nil
	}
	edges, err := t.store.Callees(t.ctx, []int64{d.ID})
	var ids []int64
	ran := map[int64]int64{}
	for _, e := range edges {
		if _, ok := ran[e.Callee]; !ok {
			ids = append(ids, e.Callee)
		}
		ran[e.Callee] += e.Count
	}
	var decls []knowledge.Decl
	if err == nil {
		decls, err = t.store.Decls(t.ctx, ids)
	}
	if err != nil {
		t.fail(err)
		return nil
	}
	decls = slices.DeleteFunc(decls, func(d knowledge.Decl) bool { return !t.has(&d) })
	slices.SortStableFunc(decls, func(a, b knowledge.Decl) int {
		return cmp.Or(cmp.Compare(t.placeOf(&a), t.placeOf(&b)), cmp.Compare(ran[b.ID], ran[a.ID]), inSource(&a, &b))
	})
	var out []treesearch.Node
	for i := range decls[:min(len(decls), mostReferences)] {
		out = append(out, t.leaf(&decls[i]))
	}
	return out
}

func (t *Tree) add(x node) treesearch.Node {
	t.nodes = append(t.nodes, x)
	return treesearch.Node(len(t.nodes) - 1)
}

// leaf returns the node of a function: one, from wherever it is found.
func (t *Tree) leaf(d *knowledge.Decl) treesearch.Node {
	n, ok := t.leaves[d.ID]
	if !ok {
		n = t.add(node{branch: branch{d.Repository, d.Package, d.Path}, decl: d})
		t.leaves[d.ID] = n
	}
	return n
}

// has reports whether a declaration is a function that the tree may have.
func (t *Tree) has(d *knowledge.Decl) bool { return t.found.Admits(d) }

func (t *Tree) packagesOf(repository int64) ([]treesearch.Node, error) {
	files, err := t.store.Product(t.ctx, repository)
	if err != nil {
		return nil, err
	}
	var list []node
	at := map[string]int{}
	for _, f := range files {
		p := f.ImportPath()
		if !knowledge.Within(t.in, f.Path, p) {
			continue
		}
		i, ok := at[p]
		if !ok {
			i = len(list)
			at[p] = i
			list = append(list, node{branch: branch{repository: repository, pkg: p}})
		}
		list[i].files = append(list[i].files, f)
	}
	return t.inOrder(list), nil
}

// filesOf returns the files of a package that have functions.
func (t *Tree) filesOf(pkg *node) ([]treesearch.Node, error) {
	ids := make([]int64, len(pkg.files))
	for i, f := range pkg.files {
		ids[i] = f.ID
	}
	decls, err := t.store.In(t.ctx, ids)
	if err != nil {
		return nil, err
	}
	of := map[int64][]knowledge.Decl{}
	for i := range decls {
		if t.has(&decls[i]) {
			of[decls[i].File] = append(of[decls[i].File], decls[i])
		}
	}
	var list []node
	for _, f := range pkg.files {
		decls := of[f.ID]
		if len(decls) == 0 {
			continue
		}
		slices.SortStableFunc(decls, func(a, b knowledge.Decl) int {
			return cmp.Or(cmp.Compare(t.placeOf(&a), t.placeOf(&b)), inSource(&a, &b))
		})
		list = append(list, node{branch: branch{pkg.repository, pkg.pkg, f.Path}, decls: slices.Clip(decls[:min(len(decls), mostBelow)])})
	}
	return t.inOrder(list), nil
}

func (t *Tree) placeOf(d *knowledge.Decl) int {
	if at, ok := t.places[d.ID]; ok {
		return at
	}
	return len(t.words)
}

// inOrder adds nodes, those with the best functions first.
func (t *Tree) inOrder(list []node) []treesearch.Node {
	place := func(p branch) int {
		if at, ok := t.best[p]; ok {
			return at
		}
		return len(t.words)
	}
	slices.SortStableFunc(list, func(a, b node) int { return cmp.Compare(place(a.branch), place(b.branch)) })
	out := make([]treesearch.Node, len(list))
	for i, x := range list {
		out[i] = t.add(x)
	}
	return out
}

func inSource(a, b *knowledge.Decl) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
}

var _ treesearch.Graph = (*Tree)(nil)
