package rebuild

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
)

// # Lines
//
// A mark is a byte that says that a piece of a function has begun. It is set where statements begin that need not run when
// those before them did: in each block, case and function, behind a loop, and behind a statement with a call, which may
// panic, end the goroutine or the program, or never return. What a runtime error (a nil pointer, an index) cuts short has no mark;
// where it happened is kept instead (lines.go.txt).
//
// A mark is tested before it is set, since what several processors write is slow to read. Marks have no counts: the probe has none
// either, and a test of a byte that stays as it is costs less.
//
// A [piece] says of a line by which mark it is known. Of most lines it is the mark before them. The later lines of a
// statement with calls ran for certain if the mark behind it is set, and those behind && and || if the mark of what
// the condition leads to is. What has no such evidence is unknown.

// liner adds marks to the files of a package.
type liner struct {
	book  lineBook
	names names
	call  bool            // marks are set by a call
	taken map[string]bool // predeclared names that the package has of its own
	r     *rewriter       // of the file
	gotos map[string]int  // the marks of labels, in a function
}

func newLiner(path string, names names, call bool) *liner {
	return &liner{book: lineBook{path: path}, names: names, call: call, taken: map[string]bool{}}
}

// know learns which predeclared names a file has of its own. It sees all files before the first one gets marks.
func (l *liner) know(file *ast.File) {
	take := func(names ...*ast.Ident) {
		for _, n := range names {
			if n != nil && returning[n.Name] {
				l.taken[n.Name] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			take(n.Name)
			if n.Name != nil && n.Name.Name == "." {
				for name := range returning {
					l.taken[name] = true
				}
			}
		case *ast.FuncDecl:
			if n.Recv == nil {
				take(n.Name)
			}
		case *ast.TypeSpec:
			take(n.Name)
		case *ast.ValueSpec:
			take(n.Names...)
		case *ast.Field:
			take(n.Names...)
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					take(id)
				}
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					take(id)
				}
			}
		}
		return true
	})
}

// file adds the marks of a file.
func (l *liner) file(r *rewriter, file *ast.File) {
	l.r = r
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
			l.literals(d, -1)
		case f.Body == nil:
		case r.unfit[f] || f.Name.Name == "_":
			l.literals(f.Body, -1)
		default:
			at := f.Name.Pos()
			if f.Recv != nil {
				at = f.Recv.Opening
			}
			l.function(lined{kind: declared, name: declaredName(f), around: -1}, at, f.Body)
		}
	}
}

// literals adds the marks of the function literals in something that has no marks itself.
func (l *liner) literals(n ast.Node, around int) {
	if n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok {
			l.literal(f, around)
			return false
		}
		return true
	})
}

func (l *liner) literal(f *ast.FuncLit, around int) {
	l.function(lined{kind: literal, around: around}, f.Type.Func, f.Body)
}

func (l *liner) position(p token.Pos) (file string, line int) {
	at := l.r.file.PositionFor(p, true)
	return filepath.Base(at.Filename), at.Line
}

// function adds the marks of a function.
func (l *liner) function(f lined, at token.Pos, body *ast.BlockStmt) {
	outside := l.gotos
	defer func() { l.gotos = outside }()
	l.gotos = map[string]int{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BranchStmt:
			if n.Tok == token.GOTO && n.Label != nil && l.gotos[n.Label.Name] == 0 {
				l.gotos[n.Label.Name] = l.mark()
			}
		}
		return true
	})
	f.file, f.line = l.position(at)
	f.entry = l.mark()
	l.r.insert(body.Lbrace+1, fmt.Sprintf("if %s.at[%d]==0{%s(&%s,%d)};", l.names.marks, f.entry, l.names.first, l.names.marks, f.entry))
	l.book.funcs = append(l.book.funcs, f)
	l.list(len(l.book.funcs)-1, body.List, f.entry)
}

// mark makes a mark.
func (l *liner) mark() int { l.book.marks++; return l.book.marks }

// set is the statement that sets a mark.
func (l *liner) set(mark int) string {
	if l.call {
		return fmt.Sprintf("if %s.at[%d]==0{%s(&%s,%d)};", l.names.marks, mark, l.names.set, l.names.marks, mark)
	}
	return fmt.Sprintf("if %s.at[%d]==0{%[1]s.at[%[2]d]=1};", l.names.marks, mark)
}

// put has a mark set at a place.
func (l *liner) put(at token.Pos, mark int) { l.r.insert(at, l.set(mark)) }

// list adds the pieces of statements that follow each other, of which the first begins with a mark.
func (l *liner) list(f int, list []ast.Stmt, mark int) {
	var late []int // pieces of the last statement that ran if it ended
	split := false
	for i, s := range list {
		if split {
			mark = l.mark()
			l.put(s.Pos(), mark)
			l.ended(f, late, mark)
		}
		for {
			label, ok := s.(*ast.LabeledStmt)
			if !ok {
				break
			}
			// No statement may be between a label and its loop. So whoever jumps there sets the mark, too.
			if m := l.gotos[label.Label.Name]; m != 0 {
				l.put(label.Pos(), m)
				mark = m
			}
			s = label.Stmt
		}
		late = l.statement(f, s, mark)
		split = l.stops(s) && !l.counts(s)
		if i == len(list)-1 && len(late) > 0 && mayBeFollowed(s) {
			m := l.mark()
			l.r.insert(s.End(), ";"+l.set(m))
			l.ended(f, late, m)
		}
	}
}

// mayBeFollowed reports whether a mark may be behind the last statement of a list: not if that ends a function.
func mayBeFollowed(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return true
		}
		id, ok := call.Fun.(*ast.Ident)
		return !ok || id.Name != "panic"
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeclStmt, *ast.DeferStmt, *ast.GoStmt:
		return true
	}
	return false
}

// ended gives pieces a mark that shows that their statement has ended.
func (l *liner) ended(f int, late []int, mark int) {
	for _, i := range late {
		p := &l.book.funcs[f].pieces[i]
		p.sure = l.book.anyOf(p.sure, mark)
	}
}

// piece adds a piece of a function.
func (l *liner) piece(f int, at token.Pos, mark, sure int, quiet bool) (i int, ok bool) {
	fn := &l.book.funcs[f]
	file, line := l.position(at)
	if file != fn.file {
		return 0, false // a //line comment says so
	}
	fn.pieces = append(fn.pieces, piece{line, mark, sure, quiet})
	return len(fn.pieces) - 1, true
}

// statement adds the pieces of a statement. Those that it returns ran for certain only if the statement ended.
func (l *liner) statement(f int, s ast.Stmt, mark int) []int {
	w := &walker{l: l, f: f, mark: mark}
	if l.counts(s) {
		return nil
	}
	switch s := s.(type) {
	case *ast.BlockStmt:
		l.list(f, s.List, mark)
	case *ast.IfStmt:
		l.ifStatement(w, s)
	case *ast.ForStmt:
		body := l.mark()
		w.start(s.Pos())
		w.simple(s.Init)
		if s.Cond != nil {
			w.condition(s.Cond, body, 0)
		}
		l.ended(f, w.late, body)
		if s.Post != nil {
			post := &walker{l: l, f: f, mark: body, conditional: true}
			post.simple(s.Post)
		}
		l.put(s.Body.Lbrace+1, body)
		l.list(f, s.Body.List, body)
	case *ast.RangeStmt:
		l.rangeStatement(w, s)
	case *ast.SwitchStmt:
		l.switchStatement(w, s)
	case *ast.TypeSwitchStmt:
		w.start(s.Pos())
		w.simple(s.Init)
		w.simple(s.Assign)
		l.clauses(w, s.Body, nil)
	case *ast.SelectStmt:
		l.selectStatement(w, s)
	case *ast.DeclStmt:
		w.declaration(s)
	case *ast.EmptyStmt:
	case *ast.BranchStmt:
		w.start(s.Pos())
		if s.Tok == token.GOTO && s.Label != nil {
			if m := l.gotos[s.Label.Name]; m != 0 {
				l.put(s.Pos(), m)
			}
		}
	default:
		w.start(s.Pos())
		w.simple(s)
	}
	return w.late
}

// counts reports whether a statement is a counter of go build -cover.
func (l *liner) counts(s ast.Stmt) (yes bool) {
	var x ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && len(call.Args) > 0 {
			if to, ok := call.Args[0].(*ast.UnaryExpr); ok {
				x = to.X
			}
		}
	case *ast.AssignStmt:
		x = s.Lhs[0]
	case *ast.IncDecStmt:
		x = s.X
	}
	if i, ok := x.(*ast.IndexExpr); ok {
		x = i.X
	}
	if sel, ok := x.(*ast.SelectorExpr); ok {
		x = sel.X
	}
	id, ok := x.(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, "goCover_")
}
