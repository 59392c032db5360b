package rebuild

import (
	"go/ast"
	"go/token"
	"slices"
)

// What an if, a loop, a switch or a select leads to has a mark of its own, which also tells of their conditions.

func (l *liner) ifStatement(w *walker, s *ast.IfStmt) {
	body, other := l.mark(), 0
	if s.Else != nil {
		other = l.mark()
	}
	w.start(s.Pos())
	w.simple(s.Init)
	no := other
	if no == 0 && leaves(s.Body) {
		no = behind
	}
	w.condition(s.Cond, body, no)
	if len(w.late) > 0 {
		l.ended(w.f, w.late, l.book.anyOf(body, other))
	}
	l.put(s.Body.Lbrace+1, body)
	l.list(w.f, s.Body.List, body)
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		l.put(e.Lbrace+1, other)
		l.list(w.f, e.List, other)
	case *ast.IfStmt:
		l.r.insert(e.Pos(), "{"+l.set(other))
		l.ifStatement(&walker{l: l, f: w.f, mark: other}, e)
		l.r.insert(e.End(), "}")
	}
}

// leaves reports whether what is behind a block runs only if the block does not.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch s := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.BREAK && s.Label == nil || s.Tok == token.CONTINUE
	}
	return false
}

func (l *liner) rangeStatement(w *walker, s *ast.RangeStmt) {
	f, body := w.f, l.mark()
	w.start(s.Pos())
	w.expr(s.X)
	l.ended(f, w.late, body)
	each := &walker{l: l, f: f, mark: body}
	for _, x := range []ast.Expr{s.Key, s.Value} {
		if x != nil {
			each.expr(x)
		}
	}
	l.put(s.Body.Lbrace+1, body)
	if mayIterate(s.X) {
		fn := lined{kind: loop, around: f, entry: body}
		fn.file, fn.line = l.position(s.Pos())
		l.book.funcs = append(l.book.funcs, fn)
		f = len(l.book.funcs) - 1
	}
	l.list(f, s.Body.List, body)
}

// switchStatement adds a switch over values. Which cases were compared is known of those with conditions and calls. To others
// a compiler may jump, and there is nothing to tell.
func (l *liner) switchStatement(w *walker, s *ast.SwitchStmt) {
	w.start(s.Pos())
	w.simple(s.Init)
	if s.Tag != nil {
		w.expr(s.Tag)
	}
	asked := s.Tag == nil
	for _, c := range s.Body.List {
		asked = asked || slices.ContainsFunc(c.(*ast.CaseClause).List, l.calls)
	}
	if asked && len(s.Body.List) > 0 {
		l.clauses(w, s.Body, w)
		return
	}
	l.clauses(w, s.Body, nil)
}

// clauses adds the cases of a switch. With heads, their conditions are pieces, and what leads to no case is marked, too.
func (l *liner) clauses(w *walker, body *ast.BlockStmt, heads *walker) {
	marks := make([]int, len(body.List))
	into := make([]bool, len(body.List)) // the case before falls into it
	none := 0                            // the mark of the default case
	for i, s := range body.List {
		c := s.(*ast.CaseClause)
		marks[i] = l.mark()
		if i > 0 {
			before := body.List[i-1].(*ast.CaseClause).Body
			if n := len(before); n > 0 {
				b, ok := before[n-1].(*ast.BranchStmt)
				into[i] = ok && b.Tok == token.FALLTHROUGH
			}
		}
		if c.List == nil {
			if none = marks[i]; into[i] {
				none = -1 << 30 // it says nothing
			}
		}
	}
	for _, m := range marks {
		l.ended(w.f, w.late, m)
	}
	added := 0
	if heads != nil && none == 0 {
		none = l.mark()
		added = none
	}
	if heads != nil {
		l.heads(heads, body, marks, into, none)
	}
	for i, s := range body.List {
		c := s.(*ast.CaseClause)
		if heads == nil {
			sure := marks[i]
			if into[i] {
				sure = 0
			}
			for _, x := range c.List {
				l.piece(w.f, x.Pos(), w.mark, sure, true)
				l.literals(x, w.f)
			}
		}
		l.put(c.Colon+1, marks[i])
		l.list(w.f, c.Body, marks[i])
	}
	if added != 0 {
		l.r.insert(body.Rbrace, ";default:"+l.set(added))
	}
}

// heads adds the conditions of cases. They are compared one after the other, until one is true: each was if a later one was
// true, or none.
func (l *liner) heads(w *walker, body *ast.BlockStmt, marks []int, into []bool, none int) {
	reached, certain := none, true
	if none < -1<<29 {
		reached, certain = 0, false
	}
	for i := len(marks) - 1; i >= 0; i-- {
		c := body.List[i].(*ast.CaseClause)
		if c.List == nil {
			continue
		}
		later := reached
		if into[i] {
			certain = false
		} else {
			reached = l.book.anyOf(marks[i], reached)
		}
		certain = certain && !slices.ContainsFunc(c.List, l.calls)
		for k, x := range c.List {
			sure := reached
			if k > 0 {
				sure = later // the one before may have been true
			}
			head := &walker{l: l, f: w.f, mark: w.mark, conditional: true, evidence: sure}
			if certain && k == 0 {
				head.mark = reached // it was not compared if nothing shows that
			}
			yes := marks[i]
			if into[i] || len(c.List) > 1 {
				yes = 0
			}
			head.condition(x, yes, later)
		}
	}
}

func (l *liner) selectStatement(w *walker, s *ast.SelectStmt) {
	w.start(s.Pos())
	marks := make([]int, len(s.Body.List))
	for i, c := range s.Body.List {
		c := c.(*ast.CommClause)
		marks[i] = l.mark()
		if c.Comm == nil {
			continue
		}
		if l.stopsIn(c.Comm) { // what is sent, and which channel, is known before one is chosen
			w.simple(c.Comm)
		} else {
			l.literals(c.Comm, w.f)
		}
		l.piece(w.f, c.Comm.Pos(), w.mark, marks[i], true)
	}
	for i, c := range s.Body.List {
		c := c.(*ast.CommClause)
		l.ended(w.f, w.late, marks[i])
		l.put(c.Colon+1, marks[i])
		l.list(w.f, c.Body, marks[i])
	}
}

// stopsIn reports whether a case of a select calls something before it waits.
func (l *liner) stopsIn(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.SendStmt:
		return l.calls(s.Chan) || l.calls(s.Value)
	case *ast.ExprStmt:
		if u, ok := ast.Unparen(s.X).(*ast.UnaryExpr); ok {
			return l.calls(u.X)
		}
	case *ast.AssignStmt:
		if u, ok := ast.Unparen(s.Rhs[0]).(*ast.UnaryExpr); ok {
			return l.calls(u.X)
		}
	}
	return false
}
