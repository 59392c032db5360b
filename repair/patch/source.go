package patch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"

	"tracerag/code"
)

// source is a text that parses, as declarations with their places.
type source struct {
	text  []byte
	tree  *ast.File
	decls []*decl // without imports
	head  int     // bytes that were put before the text to make a file of it
	fset  *token.FileSet
	file  *token.File
	at    map[int]*ast.Comment // once behind was asked
	long  []code.Span          // tokens over several lines, once inside was asked
}

// decl is a declaration at the top level, as it is written: a group is one.
type decl struct {
	place
	group        bool // has parentheses
	lparen, rest int  // of a group: after "(", and of ")"
	units        []*unit
	implicit     bool // constants of which some repeat the one above, or count by iota
}

// unit is the smallest thing that can be replaced: a function, a method, a type, a specification
// of constants or variables.
type unit struct {
	place
	kind  code.Kind
	names []string // "F", "T.M" without a star; of a specification all of its names
	typed string   // the type of a blank variable, as it is written
	spec  int      // where it begins without the keyword
	in    *decl
}

// place is where something is written. doc and tail are empty without such comments.
type place struct{ doc, span, tail code.Span }

// from is the beginning with the doc comment.
func (p *place) from() int {
	if p.doc.Len() > 0 {
		return p.doc.Start
	}
	return p.span.Start
}

// to is the end with the comment behind it.
func (p *place) to() int {
	if p.tail.Len() > 0 {
		return p.tail.End
	}
	return p.span.End
}

// label names a unit in messages.
func (u *unit) label() string { return strings.Join(u.names, ", ") }

// anonymous reports whether the name alone does not say which one is meant.
func (u *unit) anonymous() bool {
	for _, n := range u.names {
		if n != "_" && (n != "init" || u.kind != code.Func) {
			return false
		}
	}
	return true
}

// parse parses a text. Without a package clause, and if that may be, one is put before
// it, in the same line so that the parser's lines are those of the text.
func parse(text []byte, clause bool) (*source, []Problem) {
	s := &source{text: text, fset: token.NewFileSet()}
	whole := text
	if clause && !hasClause(text) {
		const before = "package p;"
		s.head = len(before)
		whole = append([]byte(before), text...)
	}
	tree, err := parser.ParseFile(s.fset, "", whole, parser.ParseComments|parser.AllErrors)
	if err != nil {
		return nil, s.problems(err)
	}
	s.tree, s.file = tree, s.fset.File(tree.FileStart)
	for _, d := range tree.Decls {
		s.add(d)
	}
	return s, nil
}

// hasClause reports whether a text begins with a package clause.
func hasClause(text []byte) bool {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, func(token.Position, string) {}, 0)
	_, tok, _ := s.Scan()
	return tok == token.PACKAGE
}

const maxProblems = 10

func (s *source) problems(err error) []Problem {
	list, ok := err.(scanner.ErrorList)
	if !ok {
		return []Problem{{Line: 1, Column: 1, What: err.Error()}}
	}
	lines := bytes.Split(s.text, []byte("\n"))
	var out []Problem
	for _, e := range list {
		p := Problem{Line: e.Pos.Line, Column: e.Pos.Column, What: e.Msg}
		if p.Line == 1 {
			p.Column = max(1, p.Column-s.head)
		}
		if p.Line >= 1 && p.Line <= len(lines) {
			p.Source = string(bytes.TrimRight(lines[p.Line-1], "\r"))
		}
		if len(out) > 0 && out[len(out)-1].Line == p.Line {
			continue // what follows from the first error of a line
		}
		if out = append(out, p); len(out) == maxProblems {
			break
		}
	}
	return out
}

func (s *source) add(node ast.Decl) {
	d := &decl{}
	d.span = s.span(node.Pos(), node.End())
	switch n := node.(type) {
	case *ast.FuncDecl:
		d.doc = s.comments(n.Doc)
		d.tail = s.behind(d.span.End)
		u := &unit{place: d.place, kind: code.Func, names: []string{n.Name.Name}, spec: d.span.Start, in: d}
		if n.Recv != nil && len(n.Recv.List) > 0 {
			u.kind, u.names[0] = code.Method, bare(code.Receiver(n.Recv.List[0].Type)+"."+n.Name.Name)
		}
		d.units = []*unit{u}
	case *ast.GenDecl:
		if n.Tok == token.IMPORT {
			return
		}
		d.doc = s.comments(n.Doc)
		d.tail = s.behind(d.span.End)
		if d.group = n.Lparen.IsValid(); d.group {
			d.lparen, d.rest = s.offset(n.Lparen)+1, s.offset(n.Rparen)
		}
		for _, x := range n.Specs {
			d.units = append(d.units, s.unit(d, n, x))
		}
		d.implicit = n.Tok == token.CONST && counts(n)
	default:
		return
	}
	s.decls = append(s.decls, d)
}

func (s *source) unit(d *decl, n *ast.GenDecl, spec ast.Spec) *unit {
	u := &unit{kind: code.Var, in: d, spec: s.offset(spec.Pos())}
	u.span = s.span(spec.Pos(), spec.End())
	var doc *ast.CommentGroup
	switch x := spec.(type) {
	case *ast.TypeSpec:
		u.kind, u.names, doc = code.Type, []string{x.Name.Name}, x.Doc
	case *ast.ValueSpec:
		if n.Tok == token.CONST {
			u.kind = code.Const
		}
		for _, name := range x.Names {
			u.names = append(u.names, name.Name)
		}
		doc = x.Doc
		if x.Type != nil {
			u.typed = string(s.span(x.Type.Pos(), x.Type.End()).Of(s.text))
		}
	}
	if !d.group {
		u.place = d.place
		return u
	}
	u.doc = s.comments(doc)
	u.tail = s.behind(u.span.End)
	return u
}

// counts reports whether the place of a constant in its group decides its value.
func counts(n *ast.GenDecl) bool {
	found := false
	for _, spec := range n.Specs {
		v := spec.(*ast.ValueSpec)
		found = found || len(v.Values) == 0
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

func (s *source) offset(p token.Pos) int {
	return min(max(s.file.Offset(p)-s.head, 0), len(s.text))
}

func (s *source) span(from, to token.Pos) code.Span {
	return code.Span{Start: s.offset(from), End: s.offset(to)}
}

func (s *source) comments(g *ast.CommentGroup) code.Span {
	if g == nil {
		return code.Span{}
	}
	from := s.offset(g.Pos())
	return code.Span{Start: from, End: s.commentEnd(g.List[len(g.List)-1])}
}

// commentEnd is the end of a comment in the text. That of the syntax tree is wrong where a
// comment has carriage returns, which are left out of its text.
func (s *source) commentEnd(c *ast.Comment) int {
	from := s.offset(c.Pos())
	rest := s.text[from:]
	n := len(rest)
	if bytes.HasPrefix(rest, []byte("/*")) {
		if i := bytes.Index(rest[2:], []byte("*/")); i >= 0 {
			n = i + 4
		}
	} else if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		n = i
		for n > 0 && rest[n-1] == '\r' {
			n--
		}
	}
	return from + n
}

// behind returns the comment that begins behind an offset in the same line.
func (s *source) behind(end int) code.Span {
	i := end
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	if s.at == nil {
		s.at = map[int]*ast.Comment{}
		for _, g := range s.tree.Comments {
			for _, c := range g.List {
				s.at[s.offset(c.Pos())] = c
			}
		}
	}
	if c := s.at[i]; c != nil && i < len(s.text) {
		return code.Span{Start: i, End: s.commentEnd(c)}
	}
	return code.Span{}
}

// bare returns the name of a method without the receiver's star and parentheses.
func bare(name string) string {
	if rest, ok := strings.CutPrefix(name, "(*"); ok {
		return strings.Replace(rest, ").", ".", 1)
	}
	return name
}

// find returns the units that have one of the names, of one kind if that is given.
func (s *source) find(kind code.Kind, names ...string) []*unit {
	var out []*unit
	for _, d := range s.decls {
	next:
		for _, u := range d.units {
			for _, n := range u.names {
				for _, want := range names {
					if n == want && (kind == 0 || kind == u.kind) {
						out = append(out, u)
						continue next
					}
				}
			}
		}
	}
	return out
}

// names returns the names of a declaration.
func (d *decl) names() []string {
	var out []string
	for _, u := range d.units {
		out = append(out, u.names...)
	}
	return out
}

// inside reports whether an offset is inside of a raw string or a comment.
func (s *source) inside(at int) bool {
	if s.long == nil {
		s.long = []code.Span{{}}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if x, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(x.Value, "`") {
				s.long = append(s.long, s.span(x.Pos(), x.End()))
			}
			return true
		})
		for _, g := range s.tree.Comments {
			for _, c := range g.List {
				s.long = append(s.long, code.Span{Start: s.offset(c.Pos()), End: s.commentEnd(c)})
			}
		}
	}
	for _, l := range s.long {
		if at > l.Start && at < l.End {
			return true
		}
	}
	return false
}

// lead returns where a declaration begins with the free comments above it.
func (s *source) lead(d *decl) int {
	above := 0
	if s.head == 0 {
		above = s.offset(s.tree.Name.End())
	}
	for _, x := range s.tree.Decls {
		if end := s.offset(x.End()); end <= d.span.Start {
			above = max(above, end)
			if tail := s.behind(end); tail.Len() > 0 {
				above = tail.End
			}
		}
	}
	for _, g := range s.tree.Comments {
		if at := s.offset(g.Pos()); at >= above && at < d.from() {
			return at
		}
	}
	return d.from()
}

// tokens returns the tokens of a unit as a text that no layout changes.
func (s *source) tokens(u *unit) string {
	text := s.text[u.spec:u.span.End]
	var b strings.Builder
	var sc scanner.Scanner
	sc.Init(token.NewFileSet().AddFile("", -1, len(text)), text, func(token.Position, string) {}, 0)
	for {
		_, tok, lit := sc.Scan()
		if tok == token.EOF {
			return b.String()
		}
		b.WriteString(tok.String() + " " + lit + "\x00")
	}
}

// nth names the nth of several declarations with one name.
func nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, n)
}

// text returns the text of a unit.
func (u *unit) text(text []byte) string { return string(u.span.Of(text)) }
