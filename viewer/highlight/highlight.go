// Package highlight divides source text into lines of classified pieces, as pages in a browser show it.
package highlight

import (
	"go/scanner"
	"go/token"
	"strings"
)

// Line is a line of source as pairs of a class and a text: "k", "func", "", " ".
// Pairs, and not objects, because there are thousands.
type Line []string

// The classes of Go source.
const (
	classPlain   = ""
	classKeyword = "k"
	classString  = "s"
	classNumber  = "n"
	classComment = "c"
	className    = "i" // an identifier
	classCallee  = "f" // an identifier before a parenthesis
	classBuiltin = "b" // a predeclared identifier
)

// predeclared are the universe's names (Go specification, predeclared identifiers).
var predeclared = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`any bool byte comparable complex64 complex128 error float32 float64 int int8 int16
		int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex
		copy delete imag len make max min new panic print println real recover`) {
		predeclared[name] = true
	}
}

// Go splits Go source into lines of classified pieces. Put together they
// are the source again, byte for byte, whatever it is: what the scanner does not
// know is plain.
func Go(src string) []Line {
	var p painter
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), nil, scanner.ScanComments)
	at := 0            // how far src is painted
	from, name := 0, 0 // an identifier that waits for what follows it
	waits := false
	settle := func(class string) {
		if waits {
			waits = false
			if predeclared[src[from:name]] {
				class = classBuiltin
			}
			p.add(class, src[from:name])
			at = name
		}
	}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		begin := file.Offset(pos)
		if tok == token.SEMICOLON && lit != ";" || begin < at { // inserted by the scanner
			continue
		}
		if tok == token.LPAREN && waits && begin == name {
			settle(classCallee)
		} else {
			settle(className)
		}
		p.add(classPlain, src[at:begin])
		at = begin
		end := begin + len(lit)
		class := classPlain
		switch {
		case tok == token.IDENT:
			from, name, waits = begin, end, true
			continue
		case tok.IsKeyword():
			class = classKeyword
		case tok == token.COMMENT:
			class = classComment
			// The scanner takes carriage returns out of its literals.
			end = begin + commentLen(src[begin:])
		case tok == token.STRING || tok == token.CHAR:
			class = classString
			if src[begin] == '`' {
				end = begin + rawLen(src[begin:])
			}
		case tok.IsLiteral():
			class = classNumber
		case lit == "": // an operator
			end = begin + len(tok.String())
		}
		end = min(end, len(src))
		p.add(class, src[begin:end])
		at = end
	}
	settle(className)
	p.add(classPlain, src[at:])
	return p.lines()
}

func commentLen(s string) int {
	if strings.HasPrefix(s, "//") {
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return i
		}
		return len(s)
	}
	if i := strings.Index(s, "*/"); i >= 0 {
		return i + 2
	}
	return len(s)
}

func rawLen(s string) int {
	if i := strings.IndexByte(s[1:], '`'); i >= 0 {
		return i + 2
	}
	return len(s)
}

// Plain splits a text that is not Go.
func Plain(src string) []Line {
	var p painter
	p.add(classPlain, src)
	return p.lines()
}

// Declaration splits the text of a declaration with its doc comment. Line is where the declaration begins; the lines
// begin at start. Mask hides secrets before the text is in pieces, in which nobody sees one; nil hides none.
func Declaration(doc, text string, line int, mask func(string) string) (start int, lines []Line) {
	start = line
	if doc = strings.TrimRight(doc, "\n"); doc != "" {
		text = doc + "\n" + text
		start -= 1 + strings.Count(doc, "\n")
	}
	if mask != nil {
		text = mask(text)
	}
	return start, Go(strings.ToValidUTF8(text, "\uFFFD"))
}

// painter gathers pieces into lines.
type painter struct {
	done []Line
	open Line
}

func (p *painter) add(class, text string) {
	for {
		before, rest, more := strings.Cut(text, "\n")
		if before != "" {
			if n := len(p.open); n > 0 && p.open[n-2] == class && class == classPlain {
				p.open[n-1] += before
			} else {
				p.open = append(p.open, class, before)
			}
		}
		if !more {
			return
		}
		p.end()
		text = rest
	}
}

func (p *painter) end() {
	if p.open == nil {
		p.open = Line{}
	}
	p.done = append(p.done, p.open)
	p.open = nil
}

func (p *painter) lines() []Line {
	if len(p.open) > 0 {
		p.end()
	}
	return p.done
}
