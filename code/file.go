package code

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// File is what a Go file declares. It keeps no part of the file's text.
type File struct {
	Package    string // name in the package clause; "" if that is broken
	Doc        Span   // the package's doc comment
	Imports    []Import
	Decls      []Decl // in source order
	Generated  bool   // has a line "// Code generated ... DO NOT EDIT."
	Constraint string // the expression of "//go:build"; "" without
	Errors     []Error
}

// Import is an import of a file.
type Import struct {
	Name string // "" unless it is written; also "_" and "."
	Path string
}

// Error is a syntax error.
type Error struct {
	Line int
	What string
}

// Parse reads the text of a Go file. It does not fail: what can't be parsed is
// missing, or [Decl.Broken], and in [File.Errors].
func Parse(text []byte) *File {
	r := read(text, true)
	r.hash()
	return r.file
}

// ParseTree is [Parse] with the syntax of the declarations, and without hashes.
func ParseTree(text []byte) (*File, *Tree) {
	r := read(text, false)
	return r.file, &Tree{nodes: r.nodes, lines: r.lines}
}

// read reads a file, all but the hashes.
func read(text []byte, hashes bool) *reader {
	r := &reader{file: &File{}, text: text, nth: map[key]int{}, hashes: hashes}
	fset := token.NewFileSet()
	tree, errs := parse(fset, text, mode)
	if len(errs) == 0 {
		r.read(piece{end: len(text)}, tree, fset)
	} else {
		r.salvage(errs)
	}
	r.number()
	return r
}

const mode = parser.ParseComments | parser.SkipObjectResolution

// parse parses a text, and returns its errors in the order of their places. Without
// parser.AllErrors it gives up after some, and there is no tree.
func parse(fset *token.FileSet, text []byte, mode parser.Mode) (*ast.File, scanner.ErrorList) {
	tree, err := parser.ParseFile(fset, "", text, mode)
	errs, _ := err.(scanner.ErrorList)
	if err != nil && errs == nil {
		errs.Add(token.Position{Line: 1}, err.Error())
	}
	return tree, errs
}

type key struct {
	kind Kind
	name string
}

// reader fills in a File.
type reader struct {
	file *File
	text []byte
	nth  map[key]int
	// hashes says that drops are needed
	hashes bool

	positions        // of the piece that is read
	broken    []int  // offsets of syntax errors, sorted
	nodes     []node // of file.Decls, first in the order in which they were found
	lines     []int  // offsets of the lines' beginnings
	drops     []int  // offsets of parentheses that formatting takes away
}

// piece is a part of the text that is parsed on its own, with something before it that makes
// a file of it.
type piece struct{ start, end, before int }

// read adds what a piece declares.
func (r *reader) read(p piece, tree *ast.File, fset *token.FileSet) {
	if tree == nil || !tree.FileStart.IsValid() {
		return
	}
	r.positions = positions{p, fset, fset.File(tree.FileStart)}
	if p.before == 0 {
		if tree.Name != nil {
			r.file.Package = tree.Name.Name
		}
		r.file.Generated = ast.IsGenerated(tree)
		r.file.Doc = r.doc(tree.Doc)
		r.constraint(tree)
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			r.function(d)
		case *ast.GenDecl:
			r.general(d)
		}
	}
}

// number sorts the declarations, and fills in what takes all of them.
func (r *reader) number() {
	for i := range r.file.Decls {
		r.file.Decls[i].Nth = i // the node, until it has its number
	}
	slices.SortStableFunc(r.file.Decls, func(a, b Decl) int { return a.Start - b.Start })
	nodes := make([]node, 0, len(r.nodes))
	end := 0
	r.file.Decls = slices.DeleteFunc(r.file.Decls, func(d Decl) bool {
		if d.Start < end {
			return true // of a broken file: what is taken for another one's part
		}
		end = d.End
		nodes = append(nodes, r.nodes[d.Nth])
		return false
	})
	r.nodes = nodes
	r.lines = append(r.lines, 0)
	for i, c := range r.text {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	for i := range r.file.Decls {
		d := &r.file.Decls[i]
		k := key{d.Kind, d.Name}
		r.nth[k]++
		d.Nth = r.nth[k]
		d.Line, d.EndLine = lineOf(r.lines, d.Start), lineOf(r.lines, d.End)
	}
}

func (r *reader) constraint(tree *ast.File) {
	for _, g := range tree.Comments {
		if g.Pos() > tree.Package {
			return
		}
		for _, c := range g.List {
			if x, ok := strings.CutPrefix(c.Text, "//go:build "); ok && r.file.Constraint == "" {
				r.file.Constraint = strings.TrimSpace(x)
			}
		}
	}
}

func (r *reader) function(d *ast.FuncDecl) {
	if d.Name == nil {
		return
	}
	e := Decl{Kind: Func, Name: d.Name.Name, Span: r.span(d.Pos(), d.End()), Doc: r.doc(d.Doc)}
	if d.Recv != nil && len(d.Recv.List) > 0 {
		e.Kind, e.Name = Method, Receiver(d.Recv.List[0].Type)+"."+e.Name
	}
	e.Head = e.End
	if d.Body != nil {
		e.Head = r.offset(d.Body.Lbrace)
	}
	r.add(e, d)
}

// Receiver returns the type of a receiver as names of methods have it: "T" or
// "(*T)", without type parameters; "?" of an expression that is no receiver's.
func Receiver(x ast.Expr) string {
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

func (r *reader) general(d *ast.GenDecl) {
	switch d.Tok {
	case token.IMPORT:
		for _, s := range d.Specs {
			r.imported(s.(*ast.ImportSpec))
		}
	case token.TYPE:
		for _, s := range d.Specs {
			r.typed(d, s.(*ast.TypeSpec))
		}
	case token.CONST, token.VAR:
		r.group(d)
	}
}

func (r *reader) imported(s *ast.ImportSpec) {
	i := Import{Path: importPath(s)}
	if s.Name != nil {
		i.Name = s.Name.Name
	}
	r.file.Imports = append(r.file.Imports, i)
}

func importPath(s *ast.ImportSpec) string {
	if path, err := strconv.Unquote(s.Path.Value); err == nil {
		return path
	}
	return strings.Trim(s.Path.Value, "\"`")
}

// typed adds a type. A lone one has its keyword, and the comment above that.
func (r *reader) typed(d *ast.GenDecl, s *ast.TypeSpec) {
	start, doc := s.Pos(), s.Doc
	if !d.Lparen.IsValid() {
		start, doc = d.Pos(), d.Doc
	}
	head := s.Name.End()
	if s.TypeParams != nil {
		head = s.TypeParams.End()
	}
	r.add(Decl{Kind: Type, Name: s.Name.Name, Span: r.span(start, s.End()), Doc: r.doc(doc), Head: r.offset(head)}, s)
}

func (r *reader) group(d *ast.GenDecl) {
	e := Decl{Kind: Var, Name: "_", Span: r.span(d.Pos(), d.End()), Doc: r.doc(d.Doc)}
	if d.Tok == token.CONST {
		e.Kind = Const
	}
	for _, s := range d.Specs {
		for _, n := range s.(*ast.ValueSpec).Names {
			e.Names = append(e.Names, n.Name)
			if e.Name == "_" {
				e.Name = n.Name
			}
		}
	}
	if len(e.Names) == 0 {
		return // "var ()"
	}
	e.Head = e.Start
	r.add(e, d)
}

func (r *reader) add(d Decl, n ast.Node) {
	d.Head = min(max(d.Head, d.Start), d.End)
	next, _ := slices.BinarySearch(r.broken, d.Start)
	d.Broken = next < len(r.broken) && r.broken[next] <= d.End
	r.file.Decls = append(r.file.Decls, d)
	r.nodes = append(r.nodes, node{n, r.positions})
	if r.hashes && !d.Broken {
		r.parentheses(n)
	}
}

func (r *reader) doc(g *ast.CommentGroup) Span {
	if g == nil {
		return Span{}
	}
	return r.span(g.Pos(), g.End())
}

// span turns positions into offsets. Trees of broken files have positions that
// are missing or past the end; the result is in order and inside the text.
func (r *reader) span(start, end token.Pos) Span {
	s := Span{Start: r.offset(start)}
	s.End = max(s.Start, r.offset(end))
	return s
}
