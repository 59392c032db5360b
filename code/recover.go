package code

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
)

// Of a file with a syntax error go/parser may take anything that follows for a part of the
// function that the error is in. Therefore such a file is cut where lines begin top-level
// declarations, which need not be right but is in every file that gofmt ever saw, and the pieces
// are parsed apart.

// before makes a file of a piece. The line end keeps a comment at the piece's beginning from being
// one of this clause.
const before = "package p;\n"

// smallPiece is up to which size a piece is read to its end whatever errors it has: each token may be one.
const smallPiece = 16 << 10

// maxErrors is how many syntax errors of a file are kept.
const maxErrors = 100

// salvage reads a file that does not parse.
func (r *reader) salvage(errs scanner.ErrorList) {
	text, markers := withoutMarkers(r.text)
	for _, m := range markers {
		r.broken = append(r.broken, m)
		r.failed(m, "conflict marker of a merge")
	}
	if len(markers) > 0 {
		fset := token.NewFileSet()
		tree, left := parse(fset, text, mode)
		if len(left) == 0 {
			r.read(piece{end: len(text)}, tree, fset)
			return
		}
		errs = left
	}
	best := attempt(text, nil)
	if best.unended {
		// The quote that has no end may be an earlier one: then what is code between it
		// and the last one is taken for strings, and strings are taken for code.
		for _, at := range best.suspects {
			if a := attempt(text, map[int]bool{at: true}); a.score > best.score {
				best = a
			}
		}
	}
	for i, p := range best.pieces {
		r.readPiece(text, p, best.parsed[i])
	}
	if len(r.file.Errors) == 0 {
		r.failed(errs[0].Pos.Offset, errs[0].Msg) // none of the pieces has it: what is between them
	}
	slices.SortStableFunc(r.file.Errors, func(a, b Error) int { return cmp.Compare(a.Line, b.Line) })
}

// failed adds an error, unless there are too many.
func (r *reader) failed(at int, what string) {
	if len(r.file.Errors) < maxErrors {
		line := 1 + bytes.Count(r.text[:min(at, len(r.text))], []byte("\n"))
		r.file.Errors = append(r.file.Errors, Error{line, what})
	}
}

// parsed is a piece with what go/parser makes of it.
type parsed struct {
	tree *ast.File
	fset *token.FileSet
	errs scanner.ErrorList
}

// attempts is a text cut and parsed in one way.
type attempts struct {
	cutting
	parsed []parsed
	score  int // pieces that parse, less those that do not
}

func attempt(text []byte, unended map[int]bool) attempts {
	a := attempts{cutting: cut(text, unended)}
	errors := 0
	for _, p := range a.pieces {
		fset := token.NewFileSet()
		src := text[p.start:p.end]
		if p.before > 0 {
			src = append([]byte(before), src...)
		}
		mode := mode
		if len(src) <= smallPiece && errors < maxErrors {
			mode |= parser.AllErrors
		}
		tree, errs := parse(fset, src, mode)
		errors += len(errs)
		if len(errs) > 0 {
			a.score -= 2
		}
		a.score++
		a.parsed = append(a.parsed, parsed{tree, fset, errs})
	}
	return a
}

func (r *reader) readPiece(text []byte, p piece, got parsed) {
	markers := r.broken
	// Those in the piece: a file may have as many pieces as markers.
	first, _ := slices.BinarySearch(markers, p.start)
	last, _ := slices.BinarySearch(markers, p.end+1)
	r.broken = slices.Clone(markers[first:last])
	for _, e := range got.errs {
		at := min(max(e.Pos.Offset-p.before+p.start, p.start), p.end)
		r.broken = append(r.broken, at)
		r.failed(at, e.Msg)
	}
	slices.Sort(r.broken)
	declared := len(r.file.Decls)
	r.read(p, got.tree, got.fset)
	if len(got.errs) > 0 && p.before > 0 {
		r.settle(text, p, declared)
	}
	r.broken = markers
}

// settle completes what a broken piece declares, of which first is the first.
func (r *reader) settle(text []byte, p piece, first int) {
	end := p.start + len(bytes.TrimRight(text[p.start:p.end], " \t\r\n"))
	if first == len(r.file.Decls) {
		r.guess(text, p, end)
		return
	}
	d := &r.file.Decls[len(r.file.Decls)-1]
	if !d.Kind.Callable() {
		return
	}
	// An error behind the last brace, or behind the line of a function without a body, is in what
	// follows the function.
	ends := d.End > d.Start && text[d.End-1] == '}'
	if n, ok := r.nodes[len(r.nodes)-1].Node.(*ast.FuncDecl); ok && n.Body == nil {
		line, _, _ := bytes.Cut(text[d.End:p.end], []byte("\n"))
		ends = len(bytes.TrimSpace(line)) == 0 && d.End < end
	}
	if d.Broken = d.Broken || !ends; d.Broken {
		d.End = max(d.End, end) // the parser gave up in it
	}
}

// guess adds a declaration for a piece in which go/parser finds none: by its keyword and the
// name behind.
func (r *reader) guess(text []byte, p piece, end int) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, p.end-p.start)
	s.Init(file, text[p.start:p.end], func(token.Position, string) {}, 0)
	d := Decl{Name: "_", Broken: true}
	for {
		at, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			return
		case token.FUNC:
			d.Kind = Func
		case token.TYPE:
			d.Kind = Type
		case token.VAR:
			d.Kind = Var
		case token.CONST:
			d.Kind = Const
		default:
			continue
		}
		start := p.start + file.Offset(at)
		if _, tok, lit := s.Scan(); tok == token.IDENT {
			d.Name = lit
		} else if m := method(text[start:p.end]); m != "" {
			d.Kind, d.Name = Method, m
		}
		d.Span = Span{start, max(start, end)}
		if !d.Kind.Callable() && d.Kind != Type {
			d.Names = []string{d.Name}
		}
		d.Head = d.Start
		r.file.Decls = append(r.file.Decls, d)
		r.nodes = append(r.nodes, node{nil, positions{piece: p}})
		return
	}
}

// method returns the name of a method by the line that it begins with; "" of other functions.
func method(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line, _, _ = bytes.Cut(line, []byte("{"))
	tree, _ := parse(token.NewFileSet(), append([]byte(before), line...), mode)
	if tree != nil && len(tree.Decls) == 1 {
		if d, ok := tree.Decls[0].(*ast.FuncDecl); ok && d.Recv != nil && len(d.Recv.List) > 0 && d.Name != nil {
			return Receiver(d.Recv.List[0].Type) + "." + d.Name.Name
		}
	}
	return ""
}

// withoutMarkers blanks the lines that git leaves in a file whose merge is not done.
func withoutMarkers(text []byte) (blank []byte, at []int) {
	blank = text
	for i := 0; i < len(text); {
		end := len(text)
		if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
			end = i + n
		}
		line := bytes.TrimRight(text[i:end], "\r")
		switch {
		case bytes.HasPrefix(line, []byte("<<<<<<< ")), bytes.HasPrefix(line, []byte(">>>>>>> ")),
			bytes.HasPrefix(line, []byte("||||||| ")), string(line) == "=======":
			if len(at) == 0 {
				blank = bytes.Clone(text)
			}
			at = append(at, i)
			for j := i; j < end; j++ {
				blank[j] = ' '
			}
		}
		i = end + 1
	}
	return blank, at
}

// cutting is where a text is cut.
type cutting struct {
	pieces   []piece
	unended  bool  // a raw string has no end
	suspects []int // raw strings that hold what looks like a declaration
}

// maxUnended is after how many quotes and comments without an end the rest of a file is one
// piece: each costs reading what follows it again.
const maxUnended = 20

// cut cuts a text at the keywords of declarations that begin lines outside of strings and
// comments. A string or comment without an end, and raw strings in unended, are taken to end
// with their line.
func cut(text []byte, unended map[int]bool) cutting {
	var c cutting
	var at []int
	for from, tries := 0, 0; from >= 0 && from < len(text); tries++ {
		var points []int
		points, from = c.scan(text, from, unended, tries < maxUnended)
		at = append(at, points...)
	}
	last := piece{}
	for _, a := range at {
		if a = withComment(text, a, last.start); a > last.start || last.before == 0 && a > 0 {
			last.end = a
			c.pieces = append(c.pieces, last)
			last = piece{start: a, before: len(before)}
		}
	}
	last.end = len(text)
	c.pieces = append(c.pieces, last)
	return c
}

// scan returns the keywords from an offset on, and where to go on; -1 at the end.
func (c *cutting) scan(text []byte, from int, unended map[int]bool, restart bool) (points []int, next int) {
	var s scanner.Scanner
	open := -1
	file := token.NewFileSet().AddFile("", -1, len(text)-from)
	s.Init(file, text[from:], func(at token.Position, what string) {
		if what == "raw string literal not terminated" || what == "comment not terminated" {
			open = from + at.Offset
			c.unended = c.unended || what[0] == 'r'
		}
	}, 0)
	var f funcKeyword
	for {
		pos, tok, lit := s.Scan()
		at := from + file.Offset(pos)
		if open >= 0 && restart {
			return f.end(points), lineAfter(text, open)
		}
		if p, ok := f.next(tok); ok {
			points = append(points, p)
		}
		switch {
		case tok == token.EOF:
			return f.end(points), -1
		case tok == token.STRING && lit[0] == '`':
			if unended[at] {
				return f.end(points), lineAfter(text, at)
			}
			if len(c.suspects) < 3 && hasDeclaration(lit) {
				c.suspects = append(c.suspects, at)
			}
		case at > 0 && text[at-1] != '\n':
		case tok == token.TYPE, tok == token.VAR, tok == token.CONST, tok == token.IMPORT:
			points = append(f.end(points), at)
			f = funcKeyword{}
		case tok == token.FUNC:
			points = f.end(points)
			f = funcKeyword{at: at, state: afterFunc}
		}
	}
}

// funcKeyword tells the keyword of a function from that of a literal that begins a line, by the
// tokens behind it.
type funcKeyword struct {
	at, depth int
	state     funcState
}

type funcState byte

const (
	none funcState = iota
	afterFunc
	inReceiver    // or parameters of a literal
	afterReceiver // or results of a literal
	afterName     // or a literal's result
)

// next reads the next token; ok says that the keyword is a declaration's.
func (f *funcKeyword) next(tok token.Token) (at int, ok bool) {
	switch f.state {
	case none:
		return 0, false
	case afterFunc:
		if tok != token.LPAREN {
			f.state = none // a name, or nothing that is right
			return f.at, true
		}
		f.state, f.depth = inReceiver, 1
	case inReceiver:
		switch tok {
		case token.LPAREN:
			f.depth++
		case token.RPAREN:
			if f.depth--; f.depth == 0 {
				f.state = afterReceiver
			}
		}
	case afterReceiver:
		f.state = none
		if tok == token.IDENT {
			f.state = afterName
		}
	case afterName:
		f.state = none
		return f.at, tok == token.LPAREN || tok == token.SEMICOLON || tok == token.EOF || tok == token.LBRACK
	}
	return 0, false
}

// end adds a keyword whose tokens ended too early to say what it is.
func (f *funcKeyword) end(points []int) []int {
	if f.state != none {
		points = append(points, f.at)
		f.state = none
	}
	return points
}

// hasDeclaration reports whether a line of a raw string looks like a declaration.
func hasDeclaration(lit string) bool {
	for i := 0; i < len(lit); i++ {
		if lit[i] != '\n' {
			continue
		}
		for _, k := range [...]string{"func ", "type ", "var ", "const "} {
			if len(lit)-i > len(k) && lit[i+1:i+1+len(k)] == k {
				return true
			}
		}
	}
	return false
}

func lineAfter(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return -1
}

// withComment moves an offset at the beginning of a line up over the comment right above.
func withComment(text []byte, at, least int) int {
	for at > least {
		line := text[:at-1]
		start := max(bytes.LastIndexByte(line, '\n')+1, least)
		line = line[start:]
		if bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte("*/")) {
			if open := bytes.LastIndex(text[least:at], []byte("/*")); open >= 0 && (least+open == 0 || text[least+open-1] == '\n') {
				at = least + open
				continue
			}
			return at
		}
		if !bytes.HasPrefix(line, []byte("//")) {
			return at
		}
		at = start
	}
	return at
}
