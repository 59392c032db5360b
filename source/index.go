package source

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/code"
)

// file is a parsed source file: its text and where in it the declarations are.
// The syntax tree is not kept; it is some ten times the size of the text.
type file struct {
	place
	text    string // line ends are "\n"
	modTime time.Time
	pkgName string
	decls   []decl   // in source order
	globals []global // in source order
	imports []code.Import
	parts   []part // in source order, so that outer parts come first
	// linknames gives the declaration that a //go:linkname directive
	// publishes under another name.
	linknames map[string]string
	directed  bool // has //line directives
	broken    bool // does not parse; the index holds what could be read
}

// span is a piece of a file's text.
type span struct {
	start, end    int // byte offsets
	head          int // offset of the end of its signature
	line, endLine int // lines of the file
	// asFile and asLine are the position as the compiler sees it, with
	// //line directives followed; asFile is only set when it differs.
	asFile string
	asLine int
}

// at reports whether the compiler gives the span the position base:line.
func (s span) at(f *file, base string, line int) bool {
	return s.asLine == line && s.base(f) == base
}

// around reports whether base:line is one of the span's lines; an estimate
// where //line directives follow each other inside.
func (s span) around(f *file, base string, line int) bool {
	return s.asLine <= line && line <= s.asLine+s.endLine-s.line && s.base(f) == base
}

func (s span) base(f *file) string {
	if s.asFile != "" {
		return s.asFile
	}
	return path.Base(filepath.ToSlash(f.path))
}

// decl is a function with a body, a TEXT block, or a package variable that has
// an initialiser.
type decl struct {
	span
	names    []string // one, but for "var a, b = f()"
	variable bool
	comment
}

// comment is where a declaration's doc comment is.
type comment struct {
	doc     int // offset, or start of the declaration
	docEnd  int
	docLine int
}

func (d *decl) name() string { return strings.Join(d.names, ", ") }

func (d *decl) has(name string) bool {
	return slices.Contains(d.names, name)
}

// part is something inside a declaration that the compiler may turn into a
// function of its own.
type part struct {
	span
	kind  partKind
	decl  int // index in decls
	outer int // the literal around it, as index in parts; -1: directly in decl
	// number counts, from 1, the literals with the same decl and outer. The
	// compiler counts the same way, save that it leaves out dead code.
	number int
}

type partKind byte

const (
	literal partKind = iota
	rangeBody
	goStmt
	deferStmt
)

// parseGo indexes the Go file src. A file that does not parse yields what the
// parser could make of it.
func parseGo(at place, src []byte, modTime time.Time) *file {
	// The scanner drops carriage returns from comments only; taking them
	// away here changes no line number and keeps them out of prompts.
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	f := &file{place: at, text: string(src), modTime: modTime}
	f.linknames = linknames(f.text)
	f.directed = strings.Contains(f.text, "//line ") || strings.Contains(f.text, "/*line ")

	declared, tree := code.ParseTree(src)
	f.broken = len(declared.Errors) > 0
	f.pkgName = declared.Package
	f.imports = declared.Imports
	ix := indexer{file: f, tree: tree}
	for i := range declared.Decls {
		ix.n = i
		ix.declaration(&declared.Decls[i])
	}
	return f
}

// linknames reads "//go:linkname local target" lines.
func linknames(text string) map[string]string {
	const directive = "//go:linkname "
	if !strings.Contains(text, directive) {
		return nil
	}
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, directive)
		if !ok {
			continue
		}
		if w := strings.Fields(rest); len(w) == 2 {
			m[w[1]] = w[0]
		}
	}
	return m
}

// indexer adds declarations to a file.
type indexer struct {
	file *file
	tree *code.Tree
	n    int // the declaration, as tree has them
}

func (ix *indexer) declaration(d *code.Decl) {
	switch n := ix.tree.Node(ix.n).(type) {
	case *ast.FuncDecl:
		if n.Body != nil { // others are defined elsewhere: in assembly or by linkname
			e := decl{names: []string{d.Name}, span: ix.piece(d.Start, d.End, d.Head)}
			ix.add(e, n.Doc, n.Body)
		}
	case *ast.TypeSpec:
		g := global{keyword: token.TYPE, names: []string{n.Name.Name}, span: ix.piece(d.Start, d.End, d.Start)}
		g.comment = comment{g.start, g.start, g.line}
		if d.Doc.Len() > 0 && d.Doc.End <= g.start {
			g.comment = comment{d.Doc.Start, d.Doc.End, ix.tree.Line(d.Doc.Start)}
		}
		ix.file.globals = append(ix.file.globals, g)
	case *ast.GenDecl:
		ix.variables(n)
		ix.globals(n)
	}
}

func (ix *indexer) variables(d *ast.GenDecl) {
	if d.Tok != token.VAR {
		return
	}
	for _, s := range d.Specs {
		s, ok := s.(*ast.ValueSpec)
		if !ok || len(s.Values) == 0 {
			continue
		}
		// A lone spec is shown with its keyword and comment.
		start, doc := s.Pos(), s.Doc
		if !d.Lparen.IsValid() {
			start, doc = d.Pos(), d.Doc
		}
		e := decl{variable: true, span: ix.span(start, s.End(), s.Values[0].Pos())}
		for _, n := range s.Names {
			e.names = append(e.names, n.Name)
		}
		ix.add(e, doc, s)
	}
}

func (ix *indexer) add(e decl, doc *ast.CommentGroup, body ast.Node) {
	e.comment = ix.comment(doc, e.span)
	ix.file.decls = append(ix.file.decls, e)
	ix.parts(len(ix.file.decls)-1, body)
}

func (ix *indexer) comment(doc *ast.CommentGroup, of span) comment {
	if doc != nil {
		if s := ix.span(doc.Pos(), doc.End(), doc.End()); s.end <= of.start {
			return comment{s.start, s.end, s.line}
		}
	}
	return comment{of.start, of.start, of.line}
}

// parts indexes what is inside declaration number n.
func (ix *indexer) parts(n int, body ast.Node) {
	numbers := map[int]int{} // literals so far, by outer
	var stack []int          // for each open node: the innermost literal
	outer := -1
	ast.Inspect(body, func(node ast.Node) bool {
		if node == nil {
			outer = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, outer)
		p := part{decl: n, outer: outer}
		switch node := node.(type) {
		case *ast.FuncLit:
			if node.Body == nil {
				return true
			}
			numbers[outer]++
			p.kind, p.number = literal, numbers[outer]
			p.span = ix.span(node.Pos(), node.End(), node.Body.Lbrace)
			outer = len(ix.file.parts)
		case *ast.RangeStmt:
			if node.Body == nil {
				return true
			}
			p.kind, p.span = rangeBody, ix.span(node.Pos(), node.End(), node.Body.Lbrace)
		case *ast.GoStmt:
			p.kind, p.span = goStmt, ix.span(node.Pos(), node.End(), node.End())
		case *ast.DeferStmt:
			p.kind, p.span = deferStmt, ix.span(node.Pos(), node.End(), node.End())
		default:
			return true
		}
		ix.file.parts = append(ix.file.parts, p)
		return true
	})
}

// span is where a node of the declaration is.
func (ix *indexer) span(start, end, head token.Pos) span {
	return ix.piece(ix.offset(start), ix.offset(end), ix.offset(head))
}

// piece is the span of offsets, put into order: trees of broken files have positions that are
// missing.
func (ix *indexer) piece(start, end, head int) span {
	s := span{start: start, end: max(start, end)}
	s.head = min(max(s.start, head), s.end)
	s.line, s.endLine = ix.tree.Line(s.start), ix.tree.Line(s.end)
	s.asLine = s.line
	if ix.file.directed {
		if file, line, ok := ix.tree.Said(ix.n, s.start); ok {
			s.asLine = line
			if file != "" {
				s.asFile = path.Base(filepath.ToSlash(file))
			}
		}
	}
	return s
}

func (ix *indexer) offset(p token.Pos) int { return ix.tree.Offset(ix.n, p) }
