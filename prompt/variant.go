package prompt

import (
	"fmt"
	"slices"
	"strings"
)

// Variant is the shape of a prompt: what it holds and in which order.
type Variant string

// The variants. All but Ordered are those of Kamiya 2024, table 3; their values are
// the paper's letters.
const (
	// Ordered is the call tree, then the source of each function once, in the
	// order of first calls, between fixed instructions and the question.
	Ordered Variant = "ordered"
	// Full is question, call tree, and sources in the order of the call tree,
	// repeated where a function is in the tree again.
	Full Variant = "full"
	// Sorted is Full with each source once, sorted by function name.
	Sorted Variant = "A"
	// NoTree is Full without the call tree.
	NoTree Variant = "C"
	// SortedNoTree is Sorted without the call tree.
	SortedNoTree Variant = "CA"
	// TreeOnly is Full without the sources.
	TreeOnly Variant = "T"
)

// Variants are all variants, the default first.
var Variants = []Variant{Ordered, Full, Sorted, NoTree, SortedNoTree, TreeOnly}

func (v Variant) hasTree() bool    { return v != NoTree && v != SortedNoTree }
func (v Variant) hasSources() bool { return v != TreeOnly }

// partKind names a kind of section, and in XML its element.
type partKind string

const (
	partInstructions partKind = "instructions"
	partQuestion     partKind = "question"
	partComparison   partKind = "comparison"
	partModules      partKind = "modules"
	partNotes        partKind = "notes"
	partProcesses    partKind = "processes"
	partTree         partKind = "call tree"
	partCallers      partKind = "callers"
	partSources      partKind = "sources"
	partTypes        partKind = "types"
	partNames        partKind = "left out"
)

// lists reports whether a section is one of items.
func (k partKind) lists() bool { return k == partSources || k == partTypes }

// of says what a section of items lists.
func (k partKind) of() string {
	if k == partTypes {
		return "declarations"
	}
	return "functions"
}

// part is a section before it has a format.
type part struct {
	kind    partKind
	run     string // label; "" of the only run or of none; "both"
	only    bool   // sources that only this run has
	heading string // of a tree and of notes
	command string // of a tree
	text    string
	items   []*item // of sources and types
	left    int     // how many are left out of it to fit a budget
}

// name is the section's name: "sources A".
func (p *part) name() string {
	if p.run == "" {
		return string(p.kind)
	}
	return string(p.kind) + " " + p.run
}

const bothRuns = "both"

// layout puts the sections of a variant in order.
//
// The paper gives the layout for two runs in section 4.4.3: question, tree and
// sources of the first, tree and sources of the second, but for CA the union
// of the sources, sorted. What it leaves open follows from the sizes in its
// table 8, where A's and C's prompt 3 are as long as their prompts 1 and 2
// together: neither drops what both runs share.
func (m *material) layout(v Variant, at Placement) []part {
	var parts []part
	question := part{kind: partQuestion, text: m.question}
	if v == Ordered {
		parts = append(parts, part{kind: partInstructions, text: m.instructions()})
	}
	if at != Last && m.question != "" {
		parts = append(parts, question)
	}
	modules := len(parts)
	parts = append(parts, part{kind: partModules})
	switch {
	case v == Ordered && len(m.runs) == 2:
		parts = append(parts, m.shared()...)
	case v == SortedNoTree:
		for i := range m.runs {
			parts = append(parts, m.notes(i)...)
		}
		parts = append(parts, part{kind: partSources, run: m.unionLabel(), items: sorted(m.union())})
	default:
		for i := range m.runs {
			parts = append(parts, m.one(i, v)...)
		}
	}
	if v.hasSources() {
		parts = append(parts, m.types(parts))
		if v == Ordered {
			parts = append(parts, m.leftOut(parts))
		}
	}
	if at != First && m.question != "" {
		parts = append(parts, question)
	}
	for i := range parts {
		parts[i].items, parts[i].left = m.cut.apply(parts[i].items)
	}
	parts[modules].text = m.modules.legend(m.files(parts))
	return slices.DeleteFunc(parts, func(p part) bool {
		return p.kind.lists() && len(p.items)+p.left == 0 || (p.kind == partModules || p.kind == partNames) && p.text == ""
	})
}

// files are the first elements of the files that a cut prompt names; nil is all.
func (m *material) files(parts []part) map[string]bool {
	if m.cut == nil || m.cut.positions && !m.cut.below && m.cut.nodes == nil {
		return nil
	}
	files := map[string]bool{}
	if m.cut.positions {
		for i := range m.runs {
			for n := range nodes(m.runs[i].tree) {
				if (m.cut.nodes == nil || m.cut.nodes[n]) && (!m.cut.below || m.onlyInTree(n.Func)) {
					first, _, _ := strings.Cut(m.file(n.Func), "/")
					files[first] = true
				}
			}
		}
	}
	for _, p := range parts {
		for _, it := range p.items {
			first, _, _ := strings.Cut(it.position, "/")
			files[first] = true
		}
	}
	for it := range m.cut.names {
		first, _, _ := strings.Cut(it.position, "/")
		files[first] = true
	}
	return files
}

// one lays out a run by itself.
func (m *material) one(i int, v Variant) []part {
	r := &m.runs[i]
	parts := m.notes(i)
	if v.hasTree() {
		parts = append(parts, m.tree(i, v))
	}
	if !v.hasSources() {
		return parts
	}
	items := r.once
	switch v {
	case Full, NoTree:
		items = r.every
	case Sorted:
		items = sorted(r.once)
	}
	return append(parts, part{kind: partSources, run: r.label, items: items})
}

// shared lays out two runs so that what they have in common is first and
// once: models are asked about the difference, and caches match beginnings.
func (m *material) shared() []part {
	a, b := m.runs[0].once, m.runs[1].once
	both, onlyA, onlyB := split(a, b)
	parts := []part{{
		kind: partComparison,
		text: fmt.Sprintf("Of %d functions, run %s called %d and run %s %d: %d in both, %d only in %s, %d only in %s.",
			len(both)+len(onlyA)+len(onlyB),
			m.runs[0].label, len(a), m.runs[1].label, len(b),
			len(both), len(onlyA), m.runs[0].label, len(onlyB), m.runs[1].label),
	}}
	parts = append(parts, part{kind: partSources, run: bothRuns, items: both})
	for i, only := range [][]*item{onlyA, onlyB} {
		parts = append(parts, m.notes(i)...)
		parts = append(parts,
			m.tree(i, Ordered),
			part{kind: partSources, run: m.runs[i].label, only: true, items: only})
	}
	return parts
}

// notes are what there is to know of a run before its tree is read.
func (m *material) notes(i int) (parts []part) {
	r := &m.runs[i]
	if len(r.notes) > 0 {
		parts = append(parts, part{kind: partNotes, run: r.label, heading: m.words().gaps, text: strings.Join(r.notes, "\n")})
	}
	if len(r.processes) > 0 {
		parts = append(parts, part{kind: partProcesses, run: r.label, text: strings.Join(r.processes, "\n")})
	}
	return parts
}

func (m *material) tree(i int, v Variant) part {
	r := &m.runs[i]
	return part{kind: m.words().tree, run: r.label, heading: m.words().title, command: r.title, text: m.treeText(r, v)}
}

func (m *material) unionLabel() string {
	if len(m.runs) == 2 {
		return bothRuns
	}
	return ""
}

// union is the items of all runs, each once.
func (m *material) union() []*item {
	var all []*item
	seen := map[*item]bool{}
	for i := range m.runs {
		for _, it := range m.runs[i].once {
			if !seen[it] {
				seen[it] = true
				all = append(all, it)
			}
		}
	}
	return all
}

// split returns what is in both lists, in the order of the first, and what is
// in one only.
func split(a, b []*item) (both, onlyA, onlyB []*item) {
	inA, inB := setOf(a), setOf(b)
	for _, it := range a {
		if inB[it] {
			both = append(both, it)
		} else {
			onlyA = append(onlyA, it)
		}
	}
	for _, it := range b {
		if !inA[it] {
			onlyB = append(onlyB, it)
		}
	}
	return both, onlyA, onlyB
}

func setOf(items []*item) map[*item]bool {
	set := make(map[*item]bool, len(items))
	for _, it := range items {
		set[it] = true
	}
	return set
}

// sorted orders items by function name, package path included.
func sorted(items []*item) []*item {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b *item) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		return strings.Compare(a.position, b.position)
	})
	return items
}
