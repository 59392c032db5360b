package prompt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tracerag/calltree"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
	"tracerag/visible"
)

// item is the text of one function, or of a function with all closures that
// were called within it.
type item struct {
	name     string // "csvview.(*Table).Render"
	key      string // linker name of the declaration
	position string // "internal/csvview/table.go:120-158"; "" unknown
	lang     string // of a code block: "go" or "asm"
	text     string // doc comment and body, "" when missing
	note     string // why the text is missing, or may differ from what ran
	path     string // file on disk

	source      source.Text      // its doc comment, signature and body as in text
	holds       []trace.Function // those of the trees that it is the text of, in call order
	declaration bool             // of types, constants or variables, rather than a function
	declares    []string         // the names of a declaration
	members     []source.Member  // the parts of a declaration
	tier        Tier             // how much of the source text is: TierFull but in a [cut]
	elided      int              // lines of it that are left out
	numbered    bool             // its text has line numbers, see [listing]
	kept        kept             // what is made of the above, once: see copy
}

// kept is what many cuts of a prompt ask an item for.
type kept struct {
	marked string  // see markdownItem
	words  wordSet // see textWords
}

// copy is an item that will have another text.
func (it *item) copy() item {
	s := *it
	s.kept = kept{}
	return s
}

// textWords are the words of an item's text.
func (it *item) textWords() wordSet {
	if it.kept.words == nil {
		it.kept.words = wordsOf(it.text)
	}
	return it.kept.words
}

// material is an input with the sources found.
type material struct {
	question  string
	static    bool // see [Input.Static]
	runs      []runMaterial
	order     []trace.Function // all functions, in the order of their first calls
	texts     map[trace.Function]source.Text
	items     map[trace.Function]*item
	missing   map[missingKey]*item
	modules   modules
	position  func(*trace.Function) string
	mask      func(string) string
	learn     func(texts []string) // shows them to what masks
	secrets   func() int           // how many mask knows; nil: it does not say
	lines     func(trace.Function) []trace.Lines
	named     func(trace.Function, source.Text) []source.Decl
	names     map[*item][]*item // declarations by the function that names them, as far as they were asked for
	decls     map[declPlace]*item
	asked     map[string]bool // the question's words, see [wordsIn]
	warnings  []string
	calls     map[*item]map[string]bool // names of functions that an item's excerpt is about, in lower case
	numbered  bool                      // the texts have line numbers
	cut       *cut                      // what is left out to fit a budget; nil: nothing
	callers   *callers                  // what gaps and names tell of calls; nil: nothing
	receivers []*item                   // types of methods, to be named beside what the sources name
	trees     []treeForm                // the texts of call trees that were made last
}

type missingKey struct{ decl, file string }

// runMaterial is one run's share.
type runMaterial struct {
	label, title string
	tree         *calltree.Tree
	notes        []string
	processes    []string
	every        []*item // an item for each node that shows one, in call order
	once         []*item // each item at its first place in every
}

// collect looks up the source of every function in the trees.
func collect(in Input) (*material, error) {
	m := &material{
		static:   in.Static,
		mask:     func(s string) string { return s },
		texts:    map[trace.Function]source.Text{},
		items:    map[trace.Function]*item{},
		missing:  map[missingKey]*item{},
		position: in.Position,
		lines:    in.Lines,
		named:    in.Named,
		names:    map[*item][]*item{},
		decls:    map[declPlace]*item{},
		calls:    map[*item]map[string]bool{},
	}
	if in.Mask != nil {
		m.mask = in.Mask.Text
		if counts, ok := in.Mask.(interface{ Secrets() int }); ok {
			m.secrets = counts.Secrets
		}
		in.Mask.Learn(in.Question)
	}
	m.learn = learner(in.Mask)
	var texts []string
	for i, r := range in.Runs {
		if r.Tree == nil {
			return nil, errors.New("a run without a call tree")
		}
		rm := runMaterial{tree: r.Tree}
		if len(in.Runs) == 2 {
			if rm.label = oneLine(r.Label); rm.label == "" {
				rm.label = string(rune('A' + i))
			}
		}
		m.runs = append(m.runs, rm)
		for n := range nodes(r.Tree) {
			if _, ok := m.texts[*n.Func]; ok {
				continue
			}
			t := source.Text{Kind: source.Missing, Warning: "no source was looked for"}
			if in.Source != nil {
				t = in.Source(*n.Func)
			}
			texts = append(texts, t.Doc, t.Body)
			m.texts[*n.Func] = t
			m.order = append(m.order, *n.Func)
		}
	}
	if len(m.runs) == 2 && m.runs[0].label == m.runs[1].label {
		return nil, fmt.Errorf("both runs are labelled %q", m.runs[0].label)
	}
	m.learn(texts)
	m.maskAll(in)
	m.asked = wordsIn(m.question)
	maps.DeleteFunc(m.asked, func(w string, _ bool) bool { return stopWords[w] })
	sources := make([]source.Text, len(m.order))
	for i, fn := range m.order {
		sources[i] = m.texts[fn]
	}
	m.modules = newModules(sources)
	m.assign(m.order)
	for i := range m.runs {
		m.occurrences(&m.runs[i])
	}
	return m, nil
}

// learner shows texts to a masker, nil for none: at once, if it takes several.
func learner(mask Masker) func(texts []string) {
	if mask == nil {
		return func([]string) {}
	}
	if several, ok := mask.(interface{ LearnAll(texts []string) []bool }); ok {
		return func(texts []string) { several.LearnAll(texts) }
	}
	return func(texts []string) {
		for _, t := range texts {
			mask.Learn(t)
		}
	}
}

// maskAll masks what a prompt is made of before it is marked up: JSON and XML
// spell some letters in other ways. The call trees follow in treeText.
func (m *material) maskAll(in Input) {
	m.question = clean(strings.TrimSpace(m.mask(in.Question)))
	for i, r := range in.Runs {
		m.runs[i].title = oneLine(m.mask(r.Title))
		for _, n := range r.Notes {
			m.runs[i].notes = append(m.runs[i].notes, oneLine(m.mask(n)))
		}
		for _, p := range r.Processes {
			m.runs[i].processes = append(m.runs[i].processes, oneLine(m.mask(p)))
		}
	}
	for _, fn := range m.order {
		t := m.texts[fn]
		t.Doc, t.Signature, t.Body, t.Warning = m.mask(t.Doc), m.mask(t.Signature), m.mask(t.Body), m.mask(t.Warning)
		m.texts[fn] = t
	}
}

// assign gives every function with a text its item. Functions whose text lies
// within another's, as a closure's does, share the outermost one's.
func (m *material) assign(order []trace.Function) {
	type span struct {
		fn  trace.Function
		txt source.Text
	}
	// Two builds of a program, in directories of their own, have files of one name.
	type file struct{ display, path string }
	byFile := map[file][]span{}
	var files []file
	paths := map[string]int{} // files, by how they are shown
	var gaps gaps
	for _, fn := range order {
		t := m.texts[fn]
		switch {
		case t.Kind == source.Generated:
			continue
		case t.Kind == source.Missing || t.Body == "":
			m.items[fn] = m.missingItem(fn, t)
			gaps.add(t, fn.Name)
			continue
		}
		if t.Warning != "" {
			gaps.add(t, fn.Name)
		}
		f := file{t.Display, t.Path}
		if byFile[f] == nil {
			files = append(files, f)
			paths[t.Display]++
		}
		byFile[f] = append(byFile[f], span{fn, t})
	}
	same := map[source.Text]*item{}
	for _, f := range files {
		spans := byFile[f]
		slices.SortStableFunc(spans, func(a, b span) int {
			// Outer before inner; of one extent the declaration first.
			switch {
			case a.txt.Start != b.txt.Start:
				return a.txt.Start - b.txt.Start
			case a.txt.End != b.txt.End:
				return b.txt.End - a.txt.End
			}
			return int(a.txt.Kind) - int(b.txt.Kind)
		})
		var outer *item
		end := 0
		for _, s := range spans {
			if outer == nil || s.txt.End > end {
				outer, end = m.newItem(s.fn, s.txt), s.txt.End
				if paths[f.display] > 1 {
					outer = m.merged(outer, same)
				}
			}
			m.items[s.fn] = outer
		}
	}
	for _, fn := range order {
		if it := m.items[fn]; it != nil {
			it.holds = append(it.holds, fn)
		}
	}
	m.warnings = gaps.sentences()
}

// merged returns the item of another build with the same text, if there is one: it is shown once.
func (m *material) merged(it *item, same map[source.Text]*item) *item {
	text := source.Text{Display: it.source.Display, Decl: it.key, Doc: it.source.Doc, Body: it.source.Body, Warning: it.source.Warning}
	other := same[text]
	if other == nil {
		same[text] = it
		return it
	}
	if other.note == "" && other.source.Start != it.source.Start {
		other.note = fmt.Sprintf("%s has the same text from line %d on", m.lastRun(), it.source.Start)
	}
	return other
}

// lastRun names the run whose functions come after those of another.
func (m *material) lastRun() string {
	if len(m.runs) == 2 {
		return "run " + m.runs[1].label
	}
	return "another program"
}

func (m *material) newItem(fn trace.Function, t source.Text) *item {
	key := fn.Name
	if t.Kind != source.Closure {
		key = symbol.Canonical(fn.Name)
	}
	it := &item{
		name: oneLine(symbol.Short(key)),
		key:  key,
		lang: "go",
		note: oneLine(t.Warning),
		path: t.Path,

		source: t,
		tier:   TierFull,
	}
	it.source.Doc = clean(strings.TrimRight(t.Doc, "\n"))
	it.source.Signature = clean(strings.TrimSpace(t.Signature))
	it.source.Body = clean(strings.TrimRight(t.Body, "\n"))
	if t.Kind == source.Assembly {
		it.lang = "asm"
	}
	it.text = it.whole()
	start := t.Start
	if t.Doc != "" && t.DocStart > 0 {
		start = t.DocStart
	}
	it.position = oneLine(fmt.Sprintf("%s:%d-%d", m.modules.file(t.Display), start, t.End))
	return it
}

// missingItem is shown where a source should: instantiations of one declaration
// share it, as they would the source.
func (m *material) missingItem(fn trace.Function, t source.Text) *item {
	key := symbol.Canonical(fn.Name)
	if it := m.missing[missingKey{key, fn.File}]; it != nil {
		return it
	}
	// The reason is for the user, who can do something about it.
	it := &item{name: oneLine(symbol.Short(key)), key: key, note: "source not available", tier: TierFull}
	m.missing[missingKey{key, fn.File}] = it
	if t.Display != "" {
		it.position = oneLine(m.modules.file(t.Display))
		if fn.StartLine > 0 {
			it.position += ":" + strconv.Itoa(fn.StartLine)
		}
	}
	return it
}

// occurrences lists the items that a run's nodes bring. A function within
// another's text brings none where that text is shown already.
func (m *material) occurrences(r *runMaterial) {
	seen := map[*item]bool{}
	for n := range nodes(r.tree) {
		it := m.items[*n.Func]
		if it == nil {
			continue
		}
		if !seen[it] {
			seen[it] = true
			r.once = append(r.once, it)
		} else if !m.owns(it, *n.Func) {
			continue
		}
		r.every = append(r.every, it)
	}
}

// owns reports whether an item is a function's own text rather than that of a
// function around it.
func (m *material) owns(it *item, fn trace.Function) bool {
	return it.key == fn.Name || it.key == symbol.Canonical(fn.Name) && m.texts[fn].Kind != source.Closure
}

// nodes yields the nodes of a tree in call order.
func nodes(t *calltree.Tree) func(yield func(*calltree.Node) bool) {
	return func(yield func(*calltree.Node) bool) {
		more := true
		t.Walk(func(n *calltree.Node, _ int) bool {
			more = more && yield(n)
			return more
		})
	}
}

// gaps gathers functions whose source is missing or doubtful.
type gaps struct {
	keys    []string
	reasons map[string]string // of the first function
	names   map[string][]string
}

// add notes a function. Those of one module that is missing, or of one file
// that was changed, share a reason but for their names.
func (g *gaps) add(t source.Text, name string) {
	if g.names == nil {
		g.reasons, g.names = map[string]string{}, map[string][]string{}
	}
	reason := t.Warning
	if reason == "" {
		reason = "no source was found"
	}
	key := t.Kind.String() + " " + t.Display
	switch mod := moduleOf(t.Display); {
	case t.Display == "":
		key = reason
	case t.Kind == source.Missing && mod != "":
		key = mod
	}
	if g.names[key] == nil {
		g.keys = append(g.keys, key)
		g.reasons[key] = reason
	}
	if name = symbol.Short(symbol.Canonical(name)); !slices.Contains(g.names[key], name) {
		g.names[key] = append(g.names[key], name)
	}
}

// sentences has one for each key: a module that is not on this machine would
// otherwise give hundreds.
func (g *gaps) sentences() []string {
	var s []string
	for _, key := range g.keys {
		names := g.names[key]
		list := strings.Join(names[:min(len(names), 3)], ", ")
		if len(names) > 3 {
			list += fmt.Sprintf(" and %d more", len(names)-3)
		}
		s = append(s, oneLine(list+": "+g.reasons[key]))
	}
	return s
}

// clean escapes what a reader of the prompt would not see, and what is no UTF-8:
// requests are JSON, which can carry no other.
func clean(s string) string { return visible.Text(s) }

// oneLine makes a text fit into a heading or an attribute: control characters,
// line breaks among them, are escaped.
func oneLine(s string) string {
	return visible.Line(s)
}
