package rebuild

import (
	"go/ast"
	"go/token"
)

// walker adds the pieces of a statement in the order in which they run.
type walker struct {
	l    *liner
	f    int // the function
	mark int
	late []int // pieces of which it is known that they ran only if the statement ended

	stopped     bool // a call is behind us, which may not have returned
	conditional bool // what comes runs only if evidence is there
	evidence    int
}

// behind is the evidence of the mark behind the statement.
const behind = -1 << 30

// start adds the beginning of a statement.
func (w *walker) start(at token.Pos) { w.l.piece(w.f, at, w.mark, w.mark, false) }

func (w *walker) add(at token.Pos) {
	sure, late := w.mark, false
	switch {
	case w.conditional && w.evidence == behind:
		sure, late = 0, true
	case w.conditional:
		sure = w.evidence
	case w.stopped:
		sure, late = 0, true
	}
	pieces := w.l.book.funcs[w.f].pieces
	if n := len(pieces); n > 0 && !late {
		_, line := w.l.position(at)
		if last := pieces[n-1]; last == (piece{line, w.mark, sure, false}) {
			return
		}
	}
	if i, ok := w.l.piece(w.f, at, w.mark, sure, false); ok && late {
		w.late = append(w.late, i)
	}
}

// simple adds a statement without statements in it.
func (w *walker) simple(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		w.expr(s.X)
	case *ast.AssignStmt:
		for _, x := range s.Lhs {
			w.expr(x)
		}
		for _, x := range s.Rhs {
			w.expr(x)
		}
	case *ast.IncDecStmt:
		w.expr(s.X)
	case *ast.SendStmt:
		w.expr(s.Chan)
		w.expr(s.Value)
		w.stopped = true
	case *ast.ReturnStmt:
		for _, x := range s.Results {
			w.expr(x)
		}
	case *ast.DeferStmt:
		w.later(s.Call)
	case *ast.GoStmt:
		w.later(s.Call)
	}
}

// later adds a call that is not made now.
func (w *walker) later(c *ast.CallExpr) {
	w.expr(c.Fun)
	for _, x := range c.Args {
		w.expr(x)
	}
}

// declaration adds the variables that get values.
func (w *walker) declaration(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		return
	}
	for _, spec := range d.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) > 0 {
			w.add(v.Pos())
			for _, x := range v.Values {
				w.expr(x)
			}
		}
	}
}

// condition adds an expression of which the marks yes and no show that it was true, or false.
func (w *walker) condition(x ast.Expr, yes, no int) {
	switch e := x.(type) {
	case *ast.ParenExpr:
		w.condition(e.X, yes, no)
		return
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			w.condition(e.X, no, yes)
			return
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND:
			w.condition(e.X, yes, 0)
			w.only(yes, func() { w.condition(e.Y, yes, 0) })
			return
		case token.LOR:
			w.condition(e.X, 0, no)
			w.only(no, func() { w.condition(e.Y, 0, no) })
			return
		}
	}
	w.expr(x)
}

// only adds what runs only if evidence is there.
func (w *walker) only(evidence int, add func()) {
	conditional, before := w.conditional, w.evidence
	w.conditional, w.evidence = true, evidence
	add()
	w.conditional, w.evidence = conditional, before
}

// expr adds an expression: operands before what is done with them.
func (w *walker) expr(x ast.Expr) {
	switch e := x.(type) {
	case nil:
	case *ast.FuncLit:
		w.add(e.Pos())
		w.l.literal(e, w.f)
	case *ast.CompositeLit:
		if e.Type != nil {
			w.add(e.Type.Pos())
		}
		for _, x := range e.Elts {
			w.expr(x)
		}
	case *ast.KeyValueExpr:
		w.expr(e.Key)
		w.expr(e.Value)
	case *ast.ParenExpr:
		w.expr(e.X)
	case *ast.SelectorExpr:
		w.expr(e.X)
		w.add(e.Sel.Pos())
	case *ast.IndexExpr:
		w.expr(e.X)
		w.expr(e.Index)
	case *ast.IndexListExpr:
		w.expr(e.X)
	case *ast.SliceExpr:
		w.expr(e.X)
		for _, x := range []ast.Expr{e.Low, e.High, e.Max} {
			if x != nil {
				w.expr(x)
			}
		}
	case *ast.StarExpr:
		w.expr(e.X)
	case *ast.TypeAssertExpr:
		w.expr(e.X)
	case *ast.UnaryExpr:
		w.expr(e.X)
		w.stopped = w.stopped || e.Op == token.ARROW
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			w.condition(e, 0, 0)
			return
		}
		w.expr(e.X)
		w.expr(e.Y)
	case *ast.CallExpr:
		w.later(e)
		w.stopped = w.stopped || !w.l.returns(e)
	default:
		w.add(x.Pos())
	}
}

// returning are the predeclared functions and types that a call of always returns from, but for runtime errors.
var returning = map[string]bool{}

func init() {
	for _, name := range []string{
		"append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make", "max", "min", "new", "print", "println", "real", "recover",
		"any", "bool", "byte", "complex64", "complex128", "error", "float32", "float64", "int", "int8", "int16", "int32", "int64",
		"rune", "string", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr",
	} {
		returning[name] = true
	}
}

// returns reports whether a call surely returns: it is a conversion, or predeclared.
func (l *liner) returns(c *ast.CallExpr) bool {
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType:
		return true
	case *ast.Ident:
		return returning[f.Name] && !l.taken[f.Name]
	}
	return false
}

// calls reports whether an expression makes a call that may not return, or waits.
func (l *liner) calls(x ast.Expr) bool { return x != nil && l.stops(x) }

// stops reports whether what is behind a statement, or an expression, may not run though it has begun.
func (l *liner) stops(s ast.Node) (yes bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			yes = yes || !l.returns(n)
		case *ast.UnaryExpr:
			yes = yes || n.Op == token.ARROW
		case *ast.DeferStmt:
			yes = yes || l.stopsLater(n.Call)
			return false
		case *ast.GoStmt:
			yes = yes || l.stopsLater(n.Call)
			return false
		case *ast.BranchStmt:
			yes = yes || n.Tok != token.FALLTHROUGH
		case *ast.ReturnStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.SendStmt, *ast.LabeledStmt:
			yes = true
		}
		return !yes
	})
	return yes
}

// stopsLater reports whether what is computed for a call that is not made now calls something.
func (l *liner) stopsLater(c *ast.CallExpr) bool {
	if l.calls(c.Fun) {
		return true
	}
	for _, x := range c.Args {
		if l.calls(x) {
			return true
		}
	}
	return false
}
