package index

import (
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/code/words"
	"tracerag/knowledge"
)

// maker derives facts from declarations. It is for one goroutine.
type maker struct {
	split *words.Splitter
	known int // words that split remembers, about
}

// mostRemembered bounds what a splitter remembers: kubernetes has half as many words.
const mostRemembered = 200_000

// terms appends the terms of a text.
func (m *maker) terms(to []string, text string) []string {
	return m.split.Append(to, text)
}

// facts returns what is derived from the declarations of a file.
func (m *maker) facts(text []byte, file *knowledge.File, f *code.File) []knowledge.Facts {
	if m.known += len(text) / 100; m.split == nil || m.known > mostRemembered {
		m.split, m.known = &words.Splitter{}, 0
	}
	list := make([]knowledge.Facts, len(f.Decls))
	pkg := m.terms(nil, file.ImportPath())
	for i := range f.Decls {
		d := &f.Decls[i]
		list[i].Decl = *d
		t := &list[i].Terms
		t.Package = pkg
		t.Doc = m.terms(nil, string(d.Doc.Of(text)))
		receiver, name, ok := strings.Cut(d.Name, ".")
		if !ok {
			receiver, name = "", d.Name
		}
		t.Receiver = m.terms(nil, receiver)
		if d.Names == nil {
			t.Name = m.terms(nil, name)
		}
		for _, n := range d.Names {
			t.Name = m.terms(t.Name, n)
		}
		list[i].Literals = m.body(string(d.Of(text)), t)
	}
	return list
}

// body adds the terms of a declaration's text, comments in it included, and returns its string
// literals.
func (m *maker) body(text string, t *knowledge.Terms) (literals []string) {
	for _, v := range code.Literals(text, func(word string) { t.Body = m.terms(t.Body, word) }) {
		if len(v) > 2 && !slices.Contains(literals, v) {
			literals = append(literals, v)
			t.Literals = m.split.AppendVerbs(m.terms(t.Literals, v), v)
		}
	}
	return literals
}
