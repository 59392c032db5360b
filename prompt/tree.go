package prompt

import (
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
	shown := map[trace.Function]bool{}
	file := func(fn *trace.Function) string {
		if shown[*fn] {
			return ""
		}
		shown[*fn] = true
		if m.cut != nil && !m.cut.positions {
			return ""
		}
		if it := m.items[*fn]; v == Ordered && it != nil && it.text != "" && m.owns(it, *fn) && m.cut.shows(it) {
			return ""
		}
		return m.file(fn)
	}
	var b strings.Builder
	// A strings.Builder does not fail, and WriteText fails only where it does.
	_ = r.tree.WriteText(&b, calltree.View{Counts: !m.static, Positions: true, Values: true, File: file, Fold: m.cut.fold()})
	return clean(m.mask(b.String()))
}

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
