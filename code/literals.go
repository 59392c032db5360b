package code

import (
	"go/scanner"
	"go/token"
	"strconv"
	"strings"
)

// Literal is a string literal of a declaration. Those that "+" joins are one.
type Literal struct {
	Span        // of its tokens
	Text string // the value
	// Error says that it is the text of an error or of a panic, as far as names tell:
	// it is an argument of errors.New, fmt.Errorf, panic, newError, t.Fatalf.
	Error bool
}

// Literals returns the string literals of a declaration in source order, empty ones left out. They are
// what a user may quote. It reads tokens, so that broken declarations have theirs, too.
func Literals(text []byte, d *Decl) []Literal {
	src := d.Of(text)
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, func(token.Position, string) {}, 0)
	var out []Literal
	var calls []bool // for each open bracket, whether it is of a call that makes an error
	var name string  // in front of the next token: "pkg.F", "" if that is no name
	kept := false    // the literal in front, if it is one, is in out
	joins := false   // one in out and "+" are in front
	last := token.EOF
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.LPAREN, token.LBRACK, token.LBRACE:
			// What is in brackets inside of a call's is its argument, too.
			calls = append(calls, tok == token.LPAREN && makesError(name) || tok != token.LBRACE && len(calls) > 0 && calls[len(calls)-1])
		case token.RPAREN, token.RBRACK, token.RBRACE:
			calls = calls[:max(len(calls)-1, 0)]
		case token.STRING:
			kept = false
			if text, err := strconv.Unquote(lit); err == nil {
				at := d.Start + file.Offset(pos)
				l := Literal{Span{at, at + len(lit)}, text, len(calls) > 0 && calls[len(calls)-1]}
				if n := len(out) - 1; joins {
					out[n].Text, out[n].End = out[n].Text+text, l.End
					kept = true
				} else if text != "" {
					out = append(out, l)
					kept = true
				}
			}
		}
		joins = tok == token.ADD && last == token.STRING && kept
		switch {
		case tok == token.IDENT && last == token.PERIOD:
			name += lit
		case tok == token.IDENT:
			name = lit
		case tok == token.PERIOD && name != "":
			name += "."
		default:
			name = ""
		}
		last = tok
	}
}

// makesError reports whether a function makes or reports an error, by its name.
func makesError(name string) bool {
	_, last, ok := strings.Cut(name, ".")
	if !ok {
		last = name
	}
	for _, word := range [...]string{"panic", "fatal", "wrap"} {
		if len(last) >= len(word) && strings.EqualFold(last[:len(word)], word) {
			return true
		}
	}
	return strings.Contains(name, "err") || strings.Contains(name, "Err")
}

// Pieces returns the parts of a literal that a user may see word for word: those between formatting
// verbs, without spaces and signs at their ends. Of "reduce of empty %s with no initial value" they are
// "reduce of empty" and "with no initial value".
func (l Literal) Pieces() []string {
	var out []string
	add := func(piece string) {
		if piece = strings.Trim(piece, " \t\r\n:;,."); piece != "" {
			out = append(out, piece)
		}
	}
	rest := l.Text
	for {
		piece, after, ok := strings.Cut(rest, "%")
		if !ok {
			add(rest)
			return out
		}
		verb := strings.TrimLeft(after, "+-# 0123456789.*[]")
		if verb == "" || !strings.ContainsRune("vTtbcdoOqxXUeEfFgGspw%", rune(verb[0])) {
			// "100 % of the time" has no verb.
			add(piece)
			rest = after
			continue
		}
		add(piece)
		rest = verb[1:]
	}
}
