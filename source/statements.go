package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// Range is a range of lines of a file, both ends in it.
type Range struct{ First, Last int }

// parse returns the syntax of a text, and what says on which line of the file something is;
// nil if it has none.
func (t Text) parse() (*ast.File, func(token.Pos) int) {
	if t.Kind != Declared && t.Kind != Closure || t.Body == "" {
		return nil, nil
	}
	fset := token.NewFileSet()
	prefix, suffix := frame(t.Body)
	tree, err := parser.ParseFile(fset, "", prefix+t.Body+suffix, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil
	}
	return tree, func(p token.Pos) int {
		return fset.PositionFor(p, false).Line - strings.Count(prefix, "\n") - 1 + t.Start
	}
}

// Statements asks omit about the statements of t, each by its lines, and returns
// the lines that can be left out when those are for which it returns true. It does
// not ask about what is inside of such a statement, and those that are one after
// the other give one range, with the comments and blank lines before them. A line
// that has something else on it, such as the brace of the block around, is in no
// range: what is left still has its structure. Assembly, and what does not parse,
// has no statements.
func (t Text) Statements(omit func(first, last int) bool) []Range {
	tree, line := t.parse()
	if tree == nil {
		return nil
	}
	var out []Range
	var look func(n ast.Node) bool
	list := func(open token.Pos, stmts []ast.Stmt) {
		free := line(open) + 1 // the first line with nothing on it that stays
		var run Range
		end := func(next int) {
			if run.Last = min(run.Last, next-1); run.First > 0 && run.First <= run.Last {
				out = append(out, run)
			}
			run = Range{}
		}
		for _, s := range stmts {
			first, last := line(s.Pos()), line(s.End())
			if omit(first, last) || idle(s, func(s ast.Stmt) bool { return omit(line(s.Pos()), line(s.End())) }) {
				if run.First == 0 {
					run.First = free
				}
				run.Last = last
				continue
			}
			end(first)
			free = last + 1
			ast.Inspect(s, look)
		}
		// The brace that closes the block is on a line of its own, or of the last
		// statement, which then is not free.
		end(1 << 30)
	}
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			list(n.Lbrace, n.List)
			return false
		case *ast.CaseClause:
			for _, x := range n.List {
				ast.Inspect(x, look)
			}
			list(n.Colon, n.Body)
			return false
		case *ast.CommClause:
			if n.Comm != nil {
				ast.Inspect(n.Comm, look)
			}
			list(n.Colon, n.Body)
			return false
		}
		return true
	}
	ast.Inspect(tree, look)
	return out
}

// Statement is a statement of a list.
type Statement struct {
	Range
	Label bool // a goto may lead there
	Decl  bool // a declaration, which may have no code
}

// Lists returns the lists of statements that run one after the other: those of blocks and of
// cases.
func (t Text) Lists() (out [][]Statement) {
	tree, line := t.parse()
	if tree == nil {
		return nil
	}
	add := func(stmts []ast.Stmt) {
		var list []Statement
		for _, s := range stmts {
			switch s.(type) {
			case *ast.CaseClause, *ast.CommClause:
				return // one of them runs
			}
			_, label := s.(*ast.LabeledStmt)
			_, decl := s.(*ast.DeclStmt)
			list = append(list, Statement{Range{line(s.Pos()), line(s.End())}, label, decl})
		}
		out = append(out, list)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			add(n.List)
		case *ast.CaseClause:
			add(n.Body)
		case *ast.CommClause:
			add(n.Body)
		}
		return true
	})
	return out
}

// Literal is a function literal in a text.
type Literal struct {
	Line int   // of the word func
	Body Range // lines that have nothing of what is around the body
}

// Literals returns the function literals of a text, and what is in them, too; not the one
// that a text itself is. One whose body has no line of its own is not among them.
func (t Text) Literals() []Literal {
	tree, line := t.parse()
	if tree == nil {
		return nil
	}
	var out []Literal
	ast.Inspect(tree, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok {
			body := Range{line(f.Body.Lbrace) + 1, line(f.Body.Rbrace) - 1}
			if start := line(f.Pos()); body.First <= body.Last && start > t.Start {
				out = append(out, Literal{start, body})
			}
		}
		return true
	})
	return out
}

// idle reports whether s is a case of which only the head, without any call, is
// left when all statements in it go.
func idle(s ast.Stmt, omit func(ast.Stmt) bool) bool {
	c, ok := s.(*ast.CaseClause)
	if !ok || len(c.Body) == 0 {
		return false
	}
	for _, x := range c.List {
		calls := false
		ast.Inspect(x, func(n ast.Node) bool {
			_, call := n.(*ast.CallExpr)
			calls = calls || call
			return !calls
		})
		if calls {
			return false
		}
	}
	for _, s := range c.Body {
		if !omit(s) {
			return false
		}
	}
	return true
}

// frame is what makes a file of the text of a declaration or of a part of one.
func frame(body string) (prefix, suffix string) {
	word, _, _ := strings.Cut(body, " ")
	switch {
	case strings.HasPrefix(body, "func(") || strings.HasPrefix(body, "func ("):
		// A method's receiver looks like a literal's parameters.
		if _, err := parser.ParseExpr(body); err == nil {
			return "package p\nvar _ = ", ""
		}
		return "package p\n", ""
	case word == "func" || word == "var":
		return "package p\n", ""
	case word == "for" || word == "go" || word == "defer":
		return "package p\nfunc _() {", "\n}"
	}
	return "package p\nvar ", ""
}
