package index

import (
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tracerag/code"
	"tracerag/code/words"
	"tracerag/knowledge"
)

// facts returns what is derived from the declarations of a file.
func facts(text []byte, file *knowledge.File, f *code.File) []knowledge.Facts {
	split := splitters.Get().(*words.Splitter)
	defer splitters.Put(split)
	terms := func(text string) []string { return split.Append(nil, text) }
	list := make([]knowledge.Facts, len(f.Decls))
	pkg := terms(file.ImportPath())
	for i := range f.Decls {
		d := &f.Decls[i]
		list[i].Decl = *d
		t := &list[i].Terms
		t.Package = pkg
		t.Doc = terms(string(d.Doc.Of(text)))
		receiver, name, ok := strings.Cut(d.Name, ".")
		if !ok {
			receiver, name = "", d.Name
		}
		t.Receiver = terms(receiver)
		t.Name = terms(name)
		for _, n := range d.Names {
			t.Name = append(t.Name, terms(n)...)
		}
		list[i].Literals = body(d.Of(text), t, terms)
	}
	return list
}

func body(text []byte, t *knowledge.Terms, terms func(string) []string) (literals []string) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(text)), text, func(token.Position, string) {}, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return literals
		case token.IDENT, token.COMMENT:
			t.Body = append(t.Body, terms(lit)...)
		case token.STRING:
			if v, err := strconv.Unquote(lit); err == nil && len(v) > 2 && !slices.Contains(literals, v) {
				literals = append(literals, v)
				t.Literals = append(t.Literals, terms(v)...)
			}
		}
	}
}

// splitters remember the words that they have seen.
var splitters = sync.Pool{New: func() any { return new(words.Splitter) }}
