package source

import (
	"go/ast"
	"go/token"
)

// global is a declaration of types, constants or variables of a package: one
// spec, or a group of constants that only make sense together.
type global struct {
	span
	comment
	keyword token.Token // TYPE, CONST or VAR
	names   []string
}

// globals indexes what constants and variables declare for all of the package.
func (ix *indexer) globals(d *ast.GenDecl) {
	add := func(n ast.Node, doc *ast.CommentGroup, names []string) {
		g := global{keyword: d.Tok, names: names, span: ix.span(n.Pos(), n.End(), n.Pos())}
		g.comment = ix.comment(doc, g.span)
		ix.file.globals = append(ix.file.globals, g)
	}
	if d.Tok == token.CONST && counted(d) || !d.Lparen.IsValid() {
		var names []string
		for _, s := range d.Specs {
			names = append(names, declared(s)...)
		}
		add(d, d.Doc, names)
		return
	}
	for _, s := range d.Specs {
		if s, ok := s.(*ast.ValueSpec); ok {
			add(s, s.Doc, declared(s))
		}
	}
}

// counted reports whether constants take their values from each other's places.
func counted(d *ast.GenDecl) bool {
	found := false
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if len(v.Values) == 0 {
			return true // the values of the spec above, again
		}
		for _, x := range v.Values {
			ast.Inspect(x, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				found = found || ok && id.Name == "iota"
				return !found
			})
		}
	}
	return found
}

func declared(s ast.Spec) []string {
	var names []string
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name != nil {
			names = append(names, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
	}
	return names
}
