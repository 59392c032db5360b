package code

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
)

// Mention is what a text calls something by: "T", or "pkg.T".
type Mention struct {
	// Package is the name before the dot: a package's as its file imports it, or a
	// variable's of the package. "" without one.
	Package string
	Name    string
}

// Mentions returns the names in a declaration that can be those of its package or of an imported
// one, as [MentionsIn] does. Of a declaration that does not parse it returns none.
func Mentions(text []byte, d *Decl) []Mention {
	prefix := before
	if d.Kind == Type && !bytes.HasPrefix(d.Of(text), []byte("type")) {
		prefix += "type " // one of a group
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "", append([]byte(prefix), d.Of(text)...), parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	return MentionsIn(tree)
}

// MentionsIn lists the names in the declarations of a tree that can be those
// of its package or of an imported one, each once, in the order in which they
// appear. It goes by syntax alone. What the declarations themselves declare inside of functions
// is taken to be meant everywhere in them, and a key of a composite literal to be a
// field unless the literal is one of a map, slice or array.
func MentionsIn(tree *ast.File) []Mention {
	local := map[string]bool{"_": true}
	for _, d := range tree.Decls {
		ast.Inspect(d, func(n ast.Node) bool { declares(n, local); return true })
	}
	var out []Mention
	seen := map[Mention]bool{}
	add := func(n Mention) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if !local[x.Name] {
					add(Mention{x.Name, n.Sel.Name})
					add(Mention{"", x.Name}) // the field or method of a package variable
				}
				return false
			}
			ast.Inspect(n.X, look)
			return false
		case *ast.KeyValueExpr:
			// Reached only for keys that may be fields: see CompositeLit.
			if _, field := n.Key.(*ast.Ident); !field {
				ast.Inspect(n.Key, look)
			}
			ast.Inspect(n.Value, look)
			return false
		case *ast.CompositeLit:
			switch n.Type.(type) {
			case *ast.MapType, *ast.ArrayType:
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if id, ok := kv.Key.(*ast.Ident); ok && !local[id.Name] {
							add(Mention{"", id.Name})
						}
					}
				}
			}
		case *ast.BranchStmt:
			return false // a label
		case *ast.LabeledStmt:
			ast.Inspect(n.Stmt, look)
			return false
		case *ast.FuncDecl:
			for _, part := range []ast.Node{n.Recv, n.Type, n.Body} {
				inspect(part, look)
			}
			return false
		case *ast.Field:
			inspect(n.Type, look)
			return false
		case *ast.Ident:
			if !local[n.Name] {
				add(Mention{"", n.Name})
			}
		}
		return true
	}
	for _, d := range tree.Decls {
		ast.Inspect(d, look)
	}
	return out
}

// inspect is ast.Inspect for a part that may not be there.
func inspect(n ast.Node, f func(ast.Node) bool) {
	switch n := n.(type) {
	case *ast.FieldList:
		if n == nil {
			return
		}
	case *ast.BlockStmt:
		if n == nil {
			return
		}
	case nil:
		return
	}
	ast.Inspect(n, f)
}

// declares adds the names that a node declares inside of a function.
func declares(n ast.Node, local map[string]bool) {
	idents := func(xs ...ast.Expr) {
		for _, x := range xs {
			if id, ok := x.(*ast.Ident); ok {
				local[id.Name] = true
			}
		}
	}
	fields := func(l *ast.FieldList) {
		if l == nil {
			return
		}
		for _, f := range l.List {
			for _, id := range f.Names {
				local[id.Name] = true
			}
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		fields(n.Recv)
		if n.Recv != nil {
			for _, f := range n.Recv.List {
				typeParameters(f.Type, local)
			}
		}
	case *ast.FuncType:
		fields(n.TypeParams)
		fields(n.Params)
		fields(n.Results)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			idents(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			idents(n.Key, n.Value)
		}
	case *ast.GenDecl:
		for _, s := range n.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				idents(s.Name)
				fields(s.TypeParams)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					idents(name)
				}
			}
		}
	}
}

// typeParameters adds those of a receiver: in "(*T[K])" K is one, and T is not.
func typeParameters(x ast.Expr, local map[string]bool) {
	var args []ast.Expr
	switch t := x.(type) {
	case *ast.StarExpr:
		typeParameters(t.X, local)
	case *ast.ParenExpr:
		typeParameters(t.X, local)
	case *ast.IndexExpr:
		args = []ast.Expr{t.Index}
	case *ast.IndexListExpr:
		args = t.Indices
	}
	for _, a := range args {
		if id, ok := a.(*ast.Ident); ok {
			local[id.Name] = true
		}
	}
}
