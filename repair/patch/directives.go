package patch

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// directives returns the comments of a text that tell a tool something, in order: "//go:embed x",
// "//line a.go:1", "//export F", "// +build x".
func directives(text []byte) []string {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, func(token.Position, string) {}, scanner.ScanComments)
	var out []string
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out
		case tok == token.COMMENT && isDirective(lit):
			out = append(out, strings.TrimRight(lit, " \t\r"))
		}
	}
}

// isDirective reports whether a comment is for a tool that builds: go's compiler and command, cgo.
func isDirective(comment string) bool {
	if rest, ok := strings.CutPrefix(comment, "/*"); ok {
		return strings.HasPrefix(rest, "line ")
	}
	rest := strings.TrimPrefix(comment, "//")
	if strings.HasPrefix(strings.TrimLeft(rest, " \t"), "+build") {
		return true
	}
	return slices.ContainsFunc([]string{"go:", "line ", "export ", "extern ", "cgo_"}, func(p string) bool { return strings.HasPrefix(rest, p) })
}
