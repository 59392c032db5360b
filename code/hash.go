package code

import (
	"crypto/sha256"
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// hash fills in the hashes of the declarations.
func (r *reader) hash() {
	h := &hasher{}
	whole := len(r.file.Errors) == 0
	slices.Sort(r.drops)
	h.drops = r.drops
	if whole { // reading the file once costs less than starting for each declaration
		if n := len(r.file.Decls); n > 0 {
			h.scan(r.text[:r.file.Decls[n-1].End], 0, r.file.Decls, r.nodes)
		}
		return
	}
	for i := range r.file.Decls {
		d := &r.file.Decls[i]
		from := d.Start
		if d.Doc.Len() > 0 {
			from = min(from, d.Doc.Start)
		}
		h.scan(r.text[from:d.End], from, r.file.Decls[i:i+1], r.nodes[i:i+1])
	}
}

// hasher makes the hashes of declarations.
type hasher struct {
	drops  []int // offsets of tokens that do not count, sorted
	tokens []lexeme
	text   []byte // of the tokens, as they are hashed

	words, directives []byte
	links             []string
}

// lexeme is a token.
type lexeme struct {
	tok token.Token
	at  int
	lit string // of names and literals
}

// scan hashes declarations, in order, that are in a text which begins at an offset of the file.
func (h *hasher) scan(text []byte, base int, decls []Decl, nodes []node) {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	start := file.Base()
	h.begin()
	for i := 0; ; {
		pos, tok, lit := s.Scan()
		at := int(pos) - start + base
		for ; i < len(decls) && (at >= decls[i].End || tok == token.EOF); i++ {
			h.end(&decls[i], nodes[i].Node)
		}
		if i == len(decls) {
			return
		}
		d := &decls[i]
		switch {
		case tok == token.COMMENT:
			if at >= d.Start || at >= d.Doc.Start && at < d.Doc.End {
				h.comment(lit)
			}
		case at >= d.Start:
			h.tokens = append(h.tokens, lexeme{tok, at, lit})
		}
	}
}

func (h *hasher) begin() {
	h.tokens, h.text = h.tokens[:0], h.text[:0]
	h.words, h.directives, h.links = h.words[:0], h.directives[:0], h.links[:0]
}

func (h *hasher) end(d *Decl, n ast.Node) {
	if s, ok := n.(*ast.TypeSpec); ok && s.TypeParams != nil {
		h.text = append(h.text, 0) // "type T[P *C,] X" is not "type T[P * C]X"
	}
	h.canonical(d.Broken)
	d.Tokens = HashText(h.text)
	d.Comments = h.sumComments()
	h.begin()
}

func (h *hasher) sumComments() Hash {
	h.words = append(append(h.words, 0), h.directives...)
	slices.Sort(h.links) // gofmt has those that are used first
	for _, l := range h.links {
		h.words = append(append(h.words, 0), l...)
	}
	return HashText(h.words)
}

// HashText returns the hash of a text as it is, such as a file's.
func HashText(text []byte) Hash {
	sum := sha256.Sum256(text)
	return Hash(sum[:len(Hash{})])
}

// HashComment returns a hash of the words of a comment, as [Decl.Comments] is: formatting does
// not change it.
func HashComment(text []byte) Hash {
	h := &hasher{}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, func(token.Position, string) {}, scanner.ScanComments)
	for {
		switch _, tok, lit := s.Scan(); tok {
		case token.COMMENT:
			h.comment(lit)
		case token.EOF:
			return h.sumComments()
		}
	}
}

// canonical writes the tokens as they are when gofmt has formatted them, or so that those of all
// layouts that it makes one are written as one:
//
//   - semicolons that separate nothing are left out, and commas before a closing bracket
//   - numbers are written as gofmt writes them
//   - parentheses that it takes away are left out (drops)
func (h *hasher) canonical(broken bool) {
	ts := h.tokens
	depth := 0
	var cases []int                 // depths of the "case" whose colon is yet to come
	last, colon := token.EOF, false // the token written before; it is a case's colon
	skip := -1                      // semicolon that goes with one before
	for i, t := range ts {
		for len(h.drops) > 0 && h.drops[0] < t.at {
			h.drops = h.drops[1:]
		}
		if len(h.drops) > 0 && h.drops[0] == t.at {
			continue
		}
		next := token.EOF
		if i+1 < len(ts) {
			next = ts[i+1].tok
		}
		isColon := false
		switch t.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.CASE, token.DEFAULT:
			cases = append(cases, depth)
		case token.COLON:
			if n := len(cases); n > 0 && cases[n-1] == depth {
				isColon = true
				cases = cases[:n-1]
			}
		case token.COMMA:
			if next == token.RPAREN || next == token.RBRACK || next == token.RBRACE {
				continue
			}
		case token.SEMICOLON:
			if i == skip {
				continue
			}
			if last == token.FOR && !broken { // "for ; x; {"
				if skip = conditionEnd(ts, i+1); skip >= 0 {
					continue
				}
			}
			switch next {
			case token.SEMICOLON, token.RBRACE, token.RPAREN, token.EOF:
				continue
			}
			if colon || last == token.LBRACE || last == token.IF || last == token.SWITCH {
				continue
			}
		}
		last, colon = t.tok, isColon
		switch {
		case t.tok == token.SEMICOLON:
			h.text = append(h.text, ';')
		case t.tok == token.INT || t.tok == token.FLOAT || t.tok == token.IMAG:
			h.text = append(h.text, number(t.lit)...)
		case t.lit != "":
			h.text = append(h.text, t.lit...)
		default:
			h.text = append(h.text, t.tok.String()...)
		}
		h.text = append(h.text, 0)
	}
}

// maxCondition bounds how far the end of a condition is looked for.
const maxCondition = 1 << 12

// conditionEnd returns the semicolon behind the condition of a loop that ends there, "{" follows; -1
// of a loop with a third part.
func conditionEnd(ts []lexeme, from int) int {
	depth := 0
	for i := from; i+1 < min(len(ts), from+maxCondition); i++ {
		switch ts[i].tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.SEMICOLON:
			if depth == 0 {
				if ts[i+1].tok == token.LBRACE {
					return i
				}
				return -1
			}
		}
	}
	return -1
}

// number writes a number as gofmt does.
func number(lit string) string {
	if len(lit) < 2 {
		return lit
	}
	exponent := func(x, from, to string) string {
		if i := strings.LastIndex(x, from); i >= 0 {
			return x[:i] + to + x[i+1:]
		}
		return x
	}
	switch lit[:2] {
	case "0x", "0X":
		return exponent("0x"+lit[2:], "P", "p")
	case "0o", "0O":
		return "0o" + lit[2:]
	case "0b", "0B":
		return "0b" + lit[2:]
	}
	if strings.Contains(lit, "E") {
		return exponent(lit, "E", "e")
	}
	if strings.HasSuffix(lit, "i") && !strings.ContainsAny(lit, ".e") {
		if lit = strings.TrimLeft(lit, "0_"); lit == "i" {
			return "0i"
		}
	}
	return lit
}

// comment adds the words of a comment. What gofmt does to doc comments changes none: it moves
// directives and links to the end, which are kept apart, and has signs of its own for lists,
// headings and quotes.
func (h *hasher) comment(text string) {
	if line, ok := strings.CutPrefix(text, "//"); ok {
		if directive(line) {
			h.directives = appendWords(h.directives, line)
			h.directives = append(h.directives, '\n')
			return
		}
		h.commentLine(line)
		return
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
	for line := range strings.Lines(text) {
		h.commentLine(line)
	}
}

func (h *hasher) commentLine(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	if line[0] == '[' {
		if name, url, ok := strings.Cut(line, "]: "); ok && strings.Contains(url, "://") {
			h.links = append(h.links, string(appendWords(nil, name+"]: "+url)))
			return
		}
	}
	first, rest, _ := strings.Cut(line, " ")
	if before, after, ok := strings.Cut(first, "\t"); ok {
		first, rest = before, after+" "+rest
	}
	switch n := len(first) - 1; {
	case first == "-", first == "*", first == "+", first == "•", first == "#":
		line = rest
	case n > 0 && (first[n] == ')' || first[n] == '.') && strings.Trim(first[:n], "0123456789") == "":
		line = first[:n] + ". " + rest
	}
	h.words = appendWords(h.words, line)
}

var quotes = strings.NewReplacer("``", "", "''", "", "“", "", "”", "")

func appendWords(to []byte, line string) []byte {
	if strings.Contains(line, "``") || strings.Contains(line, "''") || strings.Contains(line, "“") || strings.Contains(line, "”") {
		line = quotes.Replace(line)
	}
	for w := range strings.FieldsSeq(line) {
		to = append(append(to, w...), ' ')
	}
	return to
}

// directive reports whether a comment, without "//", is for a tool: "go:embed x", "line a:1".
func directive(line string) bool {
	for _, p := range [...]string{"line ", "extern ", "export "} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	tool, what, ok := strings.Cut(line, ":")
	if !ok || tool == "" || what == "" {
		return false
	}
	lower := func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
	for i := range len(tool) {
		if !lower(tool[i]) {
			return false
		}
	}
	return lower(what[0])
}
