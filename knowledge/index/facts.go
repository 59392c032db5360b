package index

import (
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/trace/symbol"
)

// facts returns what is derived from the declarations of a file.
func facts(text []byte, file *knowledge.File, f *code.File) []knowledge.Facts {
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
		list[i].Literals = body(d.Of(text), t)
	}
	return list
}

func body(text []byte, t *knowledge.Terms) (literals []string) {
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

func terms(text string) (list []string) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z'
	}) {
		list = append(list, symbol.Words(w)...)
	}
	return list
}
