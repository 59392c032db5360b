package source

import (
	"strings"
	"time"
	"unicode/utf8"
)

// skimmed is a file of which one or two declarations of types, constants or variables are
// wanted. It is cut into pieces where lines begin top-level declarations. A piece is parsed
// once it may declare a name that is asked for, and without what is in its braces: the entries
// of tables and the fields of structs say nothing of where declarations end. To parse the
// packages that fixtures/tablecat names something of (2.7 MB, most of it tables of Unicode and
// constants of Linux) takes .1 s of processor time, to skim them .014 s.
//
// The parser judges each cut: what is cut in the wrong place, in a file that gofmt has not laid
// out, does not parse, and then the whole file is parsed. So is a file with //line directives,
// by which the parser tells doc comments.
type skimmed struct {
	place
	modTime time.Time
	text    string // line ends are "\n"
	pkgName string
	pieces  []piece
	first   map[string]int // by name, the first piece that may declare it
}

// piece is one declaration of types, constants or variables, or more.
type piece struct {
	start, end int    // from the end of what is before it, so that it has its comments
	gaps       []gap  // what is in braces
	reduced    string // the text without the gaps, behind prefix; "": not parsed yet
	parsed     *file
	decls      map[*global]*Decl // as far as they were asked for
}

// gap is a part of a file's text that is not parsed.
type gap struct{ start, end int }

// pieceClause makes a file of a piece. What follows stays on its line, as a comment that the
// piece begins with may be that of the declaration before it.
const pieceClause = "package p;"

// leastGap is the size in bytes from which it is worth leaving something out.
const leastGap = 32

// skim reads a Go file's text. A file that it can't cut is parsed as a whole.
func skim(at place, src []byte, modTime time.Time) *skimmed {
	s := &skimmed{place: at, modTime: modTime, text: string(src), first: map[string]int{}}
	if strings.Contains(s.text, "\r\n") {
		s.text = strings.ReplaceAll(s.text, "\r\n", "\n")
	}
	// Of "\r\r\n" the parser leaves a "\r".
	if c := (cutter{skimmed: s}); strings.Contains(s.text, "\r\n") || strings.Contains(s.text, "//line ") || strings.Contains(s.text, "/*line ") || !c.cut() {
		return parsedWhole(parseGo(at, src, modTime))
	}
	return s
}

// parsedWhole is a file that was parsed.
func parsedWhole(f *file) *skimmed {
	s := &skimmed{place: f.place, modTime: f.modTime, text: f.text, pkgName: f.pkgName, first: map[string]int{}}
	s.pieces = []piece{{end: len(f.text), parsed: f}}
	for i := range f.globals {
		for _, name := range f.globals[i].names {
			s.first[name] = 0
		}
	}
	return s
}

// declaration returns the first declaration of a name, nil if there is none.
func (s *skimmed) declaration(name string) *Decl {
	from, ok := s.first[name]
	if !ok {
		return nil
	}
	for i := from; i < len(s.pieces); i++ {
		p := &s.pieces[i]
		if p.parsed == nil {
			if !strings.Contains(s.text[p.start:p.end], name) {
				continue
			}
			if p.parse(s); p.parsed.broken {
				*s = *parsedWhole(parseGo(s.place, []byte(s.text), s.modTime))
				return s.declaration(name)
			}
		}
		for j := range p.parsed.globals {
			for _, n := range p.parsed.globals[j].names {
				if n == name {
					return p.decl(s, &p.parsed.globals[j])
				}
			}
		}
	}
	return nil
}

// parse parses a piece.
func (p *piece) parse(s *skimmed) {
	var b strings.Builder
	b.WriteString(pieceClause)
	at := p.start
	for _, g := range p.gaps {
		b.WriteString(s.text[at:g.start])
		at = g.end
	}
	b.WriteString(s.text[at:p.end])
	p.reduced = b.String()
	p.parsed = parseGo(s.place, []byte(p.reduced), s.modTime)
}

// offset is where an offset in the parsed text is in the file.
func (p *piece) offset(at int) int {
	if p.reduced != "" {
		at += p.start - len(pieceClause)
	}
	for _, g := range p.gaps {
		if at <= g.start {
			break
		}
		at += g.end - g.start
	}
	return at
}

// decl makes the declaration of a piece's global, once.
func (p *piece) decl(s *skimmed, g *global) *Decl {
	if d := p.decls[g]; d != nil {
		return d
	}
	line := func(at int) int { return 1 + strings.Count(s.text[:at], "\n") }
	start, end, doc := p.offset(g.start), p.offset(g.end), p.offset(g.doc)
	d := &Decl{
		Keyword: g.keyword.String(), Package: s.pkgName, Names: g.names, Path: s.path, Display: s.display,
		Start: line(start), End: line(end), DocStart: line(doc),
		Doc: s.text[doc:p.offset(g.docEnd)], Body: s.text[start:end],
	}
	if p.decls == nil {
		p.decls = map[*global]*Decl{}
	}
	p.decls[g] = d
	return d
}

// cutter cuts a file into pieces.
type cutter struct {
	*skimmed
	at       int
	failed   bool
	depth    int  // of braces
	parens   int  // outside of braces, open parentheses and brackets
	open     int  // where the outermost one's content begins
	before   byte // what is before at, outside of braces: a character, or one of the below
	comments []gap
	keyword  string // of the declaration that it is in
	from     int    // where that begins, with its comments
	gaps     []gap
}

// What may stand before a declared name, besides an opening parenthesis, a comma and a
// semicolon.
const (
	afterKeyword = 'k'
	afterLine    = '\n'
	afterWord    = 'w' // may not
)

// inert are the bytes that mean nothing inside of braces.
var inert = func() (is [256]bool) {
	for i := range is {
		is[i] = !strings.ContainsRune("\"'`/{}", rune(i))
	}
	return is
}()

// cut reports whether the text could be cut.
func (c *cutter) cut() bool {
	for c.at < len(c.text) && !c.failed {
		b := c.text[c.at]
		switch {
		case c.depth > 0 && inert[b], b == ' ', b == '\t', b == '\r':
			c.at++
		case b == '"', b == '\'', b == '`':
			c.literal(b)
		case b == '/' && c.at+1 < len(c.text) && (c.text[c.at+1] == '/' || c.text[c.at+1] == '*'):
			c.comment()
		case b == '{', b == '}':
			c.brace(b)
		case c.depth == 0 && inWord(b) && !isDigit(b):
			c.word()
		default:
			switch b {
			case '(', '[':
				c.parens++
			case ')', ']':
				c.parens--
			}
			c.before = b
			c.at++
		}
	}
	c.end(len(c.text))
	return !c.failed && c.depth == 0 && c.parens == 0 && c.pkgName != ""
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func inWord(b byte) bool {
	return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || isDigit(b) || b >= utf8.RuneSelf
}

// literal goes behind a string or character.
func (c *cutter) literal(quote byte) {
	c.before = quote
	for c.at++; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; {
		case b == quote:
			c.at++
			return
		case quote == '`':
		case b == '\n':
			c.failed = true
			return
		case b == '\\':
			c.at++
		}
	}
	c.failed = true
}

// comment goes behind a comment.
func (c *cutter) comment() {
	start, end, n := c.at, "\n", 0
	if c.text[c.at+1] == '*' {
		end, n = "*/", 2
	}
	if i := strings.Index(c.text[c.at+2:], end); i >= 0 {
		c.at += 2 + i + n
	} else {
		c.at = len(c.text)
		c.failed = n > 0
	}
	if c.depth > 0 {
		return
	}
	text := strings.TrimRight(c.text[start:c.at], " \t\r")
	c.comments = append(c.comments, gap{start, start + len(text)})
	if n > 0 && strings.Contains(text, "\n") {
		c.before = afterLine
		// One with something beside it may be part of more than one group.
		before, after := c.text[1+strings.LastIndexByte(c.text[:start], '\n'):start], c.text[c.at:]
		after, _, _ = strings.Cut(after, "\n")
		c.failed = c.failed || strings.TrimSpace(before) != "" || strings.TrimSpace(after) != ""
	}
}

func (c *cutter) brace(b byte) {
	if b == '{' {
		if c.depth++; c.depth == 1 {
			c.open = c.at + 1
		}
	} else if c.depth--; c.depth == 0 && c.at-c.open >= leastGap {
		c.gaps = append(c.gaps, gap{c.open, c.at})
	}
	c.failed = c.depth < 0
	c.before = b
	c.at++
}

// word reads a word outside of braces: a keyword, or a name that may be declared.
func (c *cutter) word() {
	start := c.at
	for c.at < len(c.text) && inWord(c.text[c.at]) {
		c.at++
	}
	switch word := c.text[start:c.at]; word {
	case "package", "import", "func", "type", "var", "const":
		if start == 0 || c.text[start-1] == '\n' {
			c.failed = c.failed || c.parens > 0 // a function among arguments
			c.end(c.above(start))
			c.keyword = word
		} else if word != "func" {
			c.failed = true // a declaration that does not begin its line
		}
		c.before = afterKeyword
	default:
		switch c.before {
		case afterKeyword, afterLine, '(', ',', ';':
			if c.keyword == "package" && c.pkgName == "" {
				c.pkgName = word
			} else if _, known := c.first[word]; !known && c.declares() {
				c.first[word] = len(c.pieces)
			}
		}
		c.before = afterWord
	}
}

// declares reports whether the declaration that it is in is one of types, constants or
// variables.
func (c *cutter) declares() bool {
	return c.keyword == "type" || c.keyword == "var" || c.keyword == "const"
}

// above goes up from a declaration over white space and comments.
func (c *cutter) above(at int) int {
	for n := len(c.comments) - 1; ; n-- {
		at = len(strings.TrimRight(c.text[:at], " \t\r\n"))
		if n < 0 || c.comments[n].end != at {
			return at
		}
		at = c.comments[n].start
	}
}

// end ends a declaration, and begins the next one.
func (c *cutter) end(at int) {
	if c.declares() {
		if c.keyword == "const" {
			c.gaps = nil // the parser looks for iota everywhere
		}
		c.pieces = append(c.pieces, piece{start: c.from, end: at, gaps: c.gaps})
	}
	c.from, c.gaps = at, nil
}
