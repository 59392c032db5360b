package code

import (
	"bytes"
	"crypto/sha256"
	"go/scanner"
	"go/token"
)

// hash fills in the hashes of the declarations.
func (r *reader) hash() {
	for i := range r.file.Decls {
		d := &r.file.Decls[i]
		d.Tokens, d.Comments = hashes(d.Of(r.text), d.Doc.Of(r.text))
	}
}

// hashes returns the hash of the tokens of a declaration, and of the words of its
// comments.
func hashes(text, doc []byte) (tokens, comments Hash) {
	var code, words []byte
	words = appendWords(words, doc)
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(text)), text, func(token.Position, string) {}, scanner.ScanComments)
	pending := false // a semicolon, of which none is before a closing bracket
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			a, b := sha256.Sum256(code), sha256.Sum256(words)
			copy(tokens[:], a[:])
			copy(comments[:], b[:])
			return tokens, comments
		case token.COMMENT:
			words = appendWords(words, []byte(lit))
			continue
		case token.SEMICOLON:
			pending = true
			continue
		}
		if pending && tok != token.RBRACE && tok != token.RPAREN {
			code = append(code, ";\x00"...)
		}
		pending = false
		if lit == "" {
			lit = tok.String()
		}
		code = append(append(code, lit...), 0)
	}
}

func appendWords(to, comment []byte) []byte {
	for w := range bytes.FieldsSeq(comment) {
		if w = bytes.Trim(w, "/*"); len(w) > 0 {
			to = append(append(to, w...), ' ')
		}
	}
	return to
}
