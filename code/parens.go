package code

import "go/ast"

// parentheses notes those of a declaration that gofmt takes away:
//
//	((x))   if (x) {   func(a (int)) (error)
func (r *reader) parentheses(n ast.Node) {
	drop := func(p *ast.ParenExpr) {
		if p.Lparen.IsValid() && p.Rparen.IsValid() {
			r.drops = append(r.drops, r.offset(p.Lparen), r.offset(p.Rparen))
		}
	}
	all := func(x ast.Expr) {
		for p, ok := x.(*ast.ParenExpr); ok; p, ok = p.X.(*ast.ParenExpr) {
			drop(p)
		}
	}
	clause := func(x ast.Expr) {
		for p, ok := x.(*ast.ParenExpr); ok && !needed(p); p, ok = p.X.(*ast.ParenExpr) {
			drop(p)
		}
	}
	types := func(l *ast.FieldList) {
		if l != nil {
			for _, f := range l.List {
				all(f.Type)
			}
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ParenExpr:
			if _, ok := n.X.(*ast.ParenExpr); ok {
				drop(n)
			}
		case *ast.IfStmt:
			clause(n.Cond)
		case *ast.ForStmt:
			clause(n.Cond)
		case *ast.SwitchStmt:
			clause(n.Tag)
		case *ast.RangeStmt:
			clause(n.X)
		case *ast.FuncDecl:
			types(n.Recv)
		case *ast.TypeSpec:
			types(n.TypeParams)
		case *ast.FuncType:
			types(n.TypeParams)
			types(n.Params)
			types(n.Results)
			if l := n.Results; l != nil && len(l.List) == 1 && len(l.List[0].Names) == 0 && l.Opening.IsValid() && l.Closing.IsValid() {
				r.drops = append(r.drops, r.offset(l.Opening), r.offset(l.Closing))
			}
		}
		return true
	})
}

// needed reports whether the parentheses around the clause of a statement hold a composite literal
// whose "{" would begin the statement's block.
func needed(p *ast.ParenExpr) (is bool) {
	ast.Inspect(p.X, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ParenExpr:
			return false
		case *ast.CompositeLit:
			is = is || typeName(n.Type)
			return false
		}
		return true
	})
	return is
}

func typeName(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return typeName(x.X)
	}
	return false
}
