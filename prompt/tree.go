package prompt

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tracerag/calltree"
	"tracerag/source"
	"tracerag/trace"
)

// treeText renders a run's tree. A position costs some fifteen tokens, so each
// appears once, at the function's first node. Ordered leaves it to the heading
// of the source where there is one, which closures and missing functions lack;
// the paper's variants share one tree, so that T is full without the sources,
// byte for byte.
func (m *material) treeText(r *runMaterial, v Variant) string {
	if r.tree.Size == 0 && len(r.tree.Roots) == 0 {
		return "(no calls were recorded)\n"
	}
	as := m.treeForm(r, v)
	if i := slices.IndexFunc(m.trees, as.equal); i >= 0 {
		return m.trees[i].safe(m)
	}
	shown := map[trace.Function]bool{}
	file := func(fn *trace.Function) string {
		if shown[*fn] || !as.positions {
			return ""
		}
		shown[*fn] = true
		if it := m.items[*fn]; as.headings && it != nil && it.text != "" && m.owns(it, *fn) && m.cut.shows(it) || as.below && !m.onlyInTree(fn) {
			return ""
		}
		return m.file(fn)
	}
	var b strings.Builder
	// A strings.Builder does not fail, and WriteText fails only where it does.
	_ = r.tree.WriteText(&b, calltree.View{Counts: !m.static, Positions: true, Values: true, File: file, Fold: m.cut.fold()})
	as.text = b.String()
	m.trees = append(m.trees[max(0, len(m.trees)+1-mostTrees):], as)
	return m.trees[len(m.trees)-1].safe(m)
}

// mostTrees is how many texts of trees are kept. To fit fixtures/tablecat into 32,000 tokens
// takes 22, of which 7 differ: tree and sources are cut in turn.
const mostTrees = 6

// treeForm is the text of a run's tree, and what it depends on.
type treeForm struct {
	run       *runMaterial
	positions bool
	headings  bool                    // have the positions of functions whose source is shown
	below     bool                    // so have the names, of all but [material.onlyInTree]
	shown     map[*item]bool          // those; nil: all
	nodes     map[*calltree.Node]bool // those of the cut; nil: all
	text      string                  // with its secrets

	masked  string // the text without the secrets that were known
	secrets int    // so many
}

// safe is the tree's text without secrets. It is looked through again when more of them are
// known: a declaration, or another cut of the tree, may have told.
func (t *treeForm) safe(m *material) string {
	if m.secrets == nil {
		return clean(m.mask(t.text))
	}
	if t.masked == "" || t.secrets != m.secrets() {
		t.masked = clean(m.mask(t.text))
		t.secrets = m.secrets()
	}
	return t.masked
}

func (m *material) treeForm(r *runMaterial, v Variant) treeForm {
	as := treeForm{run: r, positions: true, headings: v == Ordered}
	if m.cut == nil {
		return as
	}
	as.positions, as.below, as.nodes = m.cut.positions, m.cut.below, m.cut.nodes
	if as.headings = as.headings && as.positions; as.headings {
		as.shown = map[*item]bool{}
		for it, s := range m.cut.items {
			if s != nil && !it.declaration {
				as.shown[it] = true
			}
		}
	}
	return as
}

func (t *treeForm) equal(as treeForm) bool {
	return t.run == as.run && t.positions == as.positions && t.below == as.below && t.headings == as.headings &&
		equal(t.shown, as.shown) && equal(t.nodes, as.nodes)
}

// onlyInTree reports whether nothing but a line of the tree says where a function is: it has no
// name below if its source is not known, or a part of the source of the function around it.
func (m *material) onlyInTree(fn *trace.Function) bool {
	it := m.items[*fn]
	return it == nil || it.source.Start <= 0 || !m.owns(it, *fn)
}

// equal reports whether two sets are the same, of which nil has all that there is.
func equal[K comparable](a, b map[K]bool) bool { return (a == nil) == (b == nil) && maps.Equal(a, b) }

// file names a function's file without the line, which the tree adds, and
// never by an absolute path: it would tell of this machine.
func (m *material) file(fn *trace.Function) string {
	if m.position != nil {
		return m.modules.file(strings.TrimSuffix(m.position(fn), ":"+strconv.Itoa(fn.StartLine)))
	}
	t := m.texts[*fn]
	if t.Kind == source.Generated {
		return "" // its line is of no file
	}
	if t.Display != "" {
		return m.modules.file(t.Display)
	}
	return fn.File[strings.LastIndexAny(fn.File, `/\`)+1:]
}
