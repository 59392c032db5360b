package source

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
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
	imports []imported
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

	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, at.path, src, parser.ParseComments|parser.SkipObjectResolution)
	f.broken = err != nil
	if tree == nil || !tree.FileStart.IsValid() {
		return f
	}
	if tree.Name != nil {
		f.pkgName = tree.Name.Name
	}
	ix := indexer{file: f, fset: fset, pos: fset.File(tree.FileStart)}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			ix.function(d)
		case *ast.GenDecl:
			ix.variables(d)
			ix.globals(d)
		}
	}
	f.imports = importsOf(tree)
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

type indexer struct {
	file *file
	fset *token.FileSet
	pos  *token.File
}

func (ix *indexer) function(d *ast.FuncDecl) {
	if d.Body == nil || d.Name == nil {
		return // declared here, defined elsewhere: in assembly or by linkname
	}
	name := d.Name.Name
	if d.Recv != nil && len(d.Recv.List) > 0 {
		name = receiver(d.Recv.List[0].Type) + "." + name
	}
	e := decl{names: []string{name}, span: ix.span(d.Pos(), d.End(), d.Body.Lbrace)}
	ix.add(e, d.Doc, d.Body)
}

// receiver is the type of a receiver as linker names have it.
func receiver(x ast.Expr) string {
	star := false
	for {
		switch t := x.(type) {
		case *ast.ParenExpr:
			x = t.X
		case *ast.StarExpr:
			star, x = true, t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			if star {
				return "(*" + t.Name + ")"
			}
			return t.Name
		default:
			return "?"
		}
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

// span turns positions into offsets and lines. Trees of broken files hold
// positions that are missing or past the end; the result is always in order
// and inside the text.
func (ix *indexer) span(start, end, head token.Pos) span {
	var s span
	s.start = ix.offset(start)
	s.end = max(s.start, ix.offset(end))
	s.head = min(max(s.start, ix.offset(head)), s.end)
	at := ix.pos.Pos(s.start)
	s.line = ix.fset.PositionFor(at, false).Line
	s.endLine = ix.fset.PositionFor(ix.pos.Pos(s.end), false).Line
	s.asLine = s.line
	if ix.file.directed {
		p := ix.fset.PositionFor(at, true)
		s.asLine = p.Line
		if p.Filename != ix.pos.Name() {
			s.asFile = path.Base(filepath.ToSlash(p.Filename))
		}
	}
	return s
}

func (ix *indexer) offset(p token.Pos) int {
	if !p.IsValid() {
		return 0
	}
	return min(max(int(p)-ix.pos.Base(), 0), min(ix.pos.Size(), len(ix.file.text)))
}
