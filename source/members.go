package source

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// Member is a part of a declaration that can be left out without the others: a field of
// a struct, a method of an interface, or one of several constants or variables.
type Member struct {
	Names []string // an embedded type has its own name
	// Lines are those of the member, with its comments. Members may share a line.
	Lines Range
	// Embedded says that it brings in the members of another type, whose names the
	// text does not have.
	Embedded bool
}

// Members returns the members of d, in their order. A declaration of another kind, as a
// function type or the table of a variable, has none; neither has a text that does not parse.
func (d Decl) Members() []Member {
	if d.Keyword == "var" {
		return nil // a declaration has one of them, and to parse a large table takes time
	}
	fset := token.NewFileSet()
	// One of several in parentheses has no keyword of its own.
	var file *ast.File
	var before int
	for _, frame := range []string{"package p\n", "package p\n" + d.Keyword + " "} {
		if tree, err := parser.ParseFile(fset, "", frame+d.Body, parser.ParseComments|parser.SkipObjectResolution); err == nil {
			file, before = tree, 1
			break
		}
	}
	if file == nil || len(file.Decls) != 1 {
		return nil
	}
	gen, ok := file.Decls[0].(*ast.GenDecl)
	if !ok {
		return nil
	}
	line := func(p token.Pos) int { return fset.PositionFor(p, false).Line - before - 1 + d.Start }
	lines := func(n ast.Node, doc, comment *ast.CommentGroup) Range {
		r := Range{line(n.Pos()), line(n.End())}
		if doc != nil {
			r.First = min(r.First, line(doc.Pos()))
		}
		if comment != nil {
			r.Last = max(r.Last, line(comment.End()))
		}
		return r
	}
	var out []Member
	if len(gen.Specs) > 1 {
		for _, s := range gen.Specs {
			m := Member{Names: declared(s)}
			if v, ok := s.(*ast.ValueSpec); ok {
				m.Lines = lines(s, v.Doc, v.Comment)
				out = append(out, m)
			}
		}
		return out
	}
	t, ok := gen.Specs[0].(*ast.TypeSpec)
	if !ok {
		return nil
	}
	var list *ast.FieldList
	switch x := t.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		m := Member{Lines: lines(f, f.Doc, f.Comment), Embedded: len(f.Names) == 0}
		for _, n := range f.Names {
			m.Names = append(m.Names, n.Name)
		}
		if m.Embedded {
			m.Names = []string{embeddedName(f.Type)}
		}
		out = append(out, m)
	}
	return out
}

// embeddedName is the name of an embedded type: T of "*pkg.T[K]"; "" of a constraint.
func embeddedName(x ast.Expr) string {
	switch t := x.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return embeddedName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.IndexExpr:
		return embeddedName(t.X)
	case *ast.IndexListExpr:
		return embeddedName(t.X)
	}
	return ""
}
