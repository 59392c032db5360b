package rebuild

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
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

// piece is something on a line that runs. The line did not run if the mark is not set, it ran if sure is, and otherwise it is
// not known. A quiet piece has no code that could tell, unless sure is set.
type piece struct {
	line       int
	mark, sure int // positive: a mark; negative: one of lineBook.either; 0: nothing
	quiet      bool
}

// Kinds of functions with lines.
const (
	declared = iota
	literal
	loop  // the body of a loop, which is a function if what the loop is over is an iterator
	given // a loop that is no function
)

// lined is a function and its pieces.
type lined struct {
	kind   int
	name   string // of what is declared: "F", "(*T[...]).M"
	around int    // the function around it, or -1
	file   string // without its directory
	line   int    // where it begins
	entry  int    // the first mark
	pieces []piece
}

// lineBook is what is known of the lines of a package.
type lineBook struct {
	path   string
	marks  int      // the highest
	either [][2]int // evidence of which one is enough; -1 is the first
	funcs  []lined
}

// anyOf returns the evidence that one of two is there.
func (b *lineBook) anyOf(m, n int) int {
	switch {
	case m == 0 || m == n:
		return n
	case n == 0:
		return m
	}
	b.either = append(b.either, [2]int{m, n})
	return -len(b.either)
}

// lineNames are the identifiers for marks in a package.
type lineNames struct{ marks, own, first, set string }

func lineNamesFor(files [][]byte) lineNames {
	for suffix := ""; ; suffix += "_" {
		n := lineNames{"_tracerag_lines" + suffix, "_tracerag_own" + suffix, "_tracerag_first" + suffix, "_tracerag_set" + suffix}
		if !slices.ContainsFunc(files, func(text []byte) bool {
			return slices.ContainsFunc([]string{n.marks, n.own, n.first, n.set}, func(s string) bool { return bytes.Contains(text, []byte(s)) })
		}) {
			return n
		}
	}
}

// liner adds marks to the files of a package.
type liner struct {
	book  lineBook
	names lineNames
	call  bool            // marks are set by a call
	taken map[string]bool // predeclared names that the package has of its own
	r     *rewriter       // of the file
	gotos map[string]int  // the marks of labels, in a function
}

func newLiner(path string, texts [][]byte, call bool) *liner {
	return &liner{book: lineBook{path: path}, names: lineNamesFor(texts), call: call, taken: map[string]bool{}}
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

// declaredName is a function's name as the linker has it, behind the package, without what types it is for.
func declaredName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		if f.Type.TypeParams != nil {
			return f.Name.Name + "[...]"
		}
		return f.Name.Name
	}
	pointer, of := "", ""
	x := f.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.ParenExpr:
			x = t.X
			continue
		case *ast.StarExpr:
			pointer, x = "*", t.X
			continue
		case *ast.IndexExpr:
			of, x = "[...]", t.X
			continue
		case *ast.IndexListExpr:
			of, x = "[...]", t.X
			continue
		case *ast.Ident:
			if pointer != "" {
				return "(*" + t.Name + of + ")." + f.Name.Name
			}
			return t.Name + of + "." + f.Name.Name
		}
		return ""
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

// describe returns what the compiled program carries: compressed, since a large program has much of it.
func (b *lineBook) describe() ([]byte, error) {
	var raw []byte
	number := func(n int) { raw = binary.AppendVarint(raw, int64(n)) }
	text := func(s string) { number(len(s)); raw = append(raw, s...) }
	text(b.path)
	number(b.marks)
	number(len(b.either))
	for _, e := range b.either {
		number(e[0])
		number(e[1])
	}
	number(len(b.funcs))
	file := ""
	for i, f := range b.funcs {
		number(f.kind)
		text(f.name)
		number(i - f.around)
		if f.file == file {
			text("")
		} else {
			text(f.file)
			file = f.file
		}
		number(f.line)
		number(f.entry)
		number(len(f.pieces))
		line, mark := f.line, f.entry
		for _, p := range f.pieces {
			number(p.line - line)
			number(p.mark - mark)
			form := 0
			switch {
			case p.sure == 0:
				form = 1
			case p.sure != p.mark:
				form = 2
			}
			if p.quiet {
				form += 3
			}
			number(form)
			if form%3 == 2 {
				number(p.sure)
			}
			line, mark = p.line, p.mark
		}
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// declare returns what one file of the package has of its own for marks. All of it is data: no initialiser runs.
func (l *liner) declare() (string, error) {
	if l.book.marks == 0 {
		return "", nil
	}
	says, err := l.book.describe()
	if err != nil {
		return "", err
	}
	n, size := l.names, l.book.marks+1
	typ := fmt.Sprintf("struct{at *[%d]uint8; state uint32; size uintptr; says string}", size)
	text := fmt.Sprintf("\nvar %s [%d]uint8\n\nvar %s = %s{at: &%s, size: %d, says: %s}\n", n.own, size, n.marks, typ, n.own, size, strconv.QuoteToASCII(string(says)))
	text += fmt.Sprintf("\n//go:linkname %s runtime.tracerag_lines\nfunc %s(*%s, uintptr)\n", n.first, n.first, typ)
	if l.call {
		text += fmt.Sprintf("\n//go:linkname %s runtime.tracerag_line\nfunc %s(*%s, uintptr)\n", n.set, n.set, typ)
	}
	return text, nil
}
