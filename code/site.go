package code

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// Site is a place of a declaration from which a call may be made.
type Site struct {
	Offset int // in the file's text
	Line   int // of the file, from 1
}

// Sites returns the sites of a declaration of a file with that text. A call is named by the
// index of its site: formatting changes the lines, but not the indexes. They are made by
// syntax alone, so that every reader of the text counts the same:
//
//   - a call expression is a site, at its opening parenthesis; conversions and calls of
//     built-in functions are call expressions, too;
//   - so is the range clause of a for statement, at the word "range": it calls an
//     iterator, if it ranges over a function.
//
// They are in the order of the text. In f(g()).h(), f is the first, then g, then h. The calls
// of function literals belong to the declaration around them.
func Sites(text []byte, d Decl) ([]Site, error) {
	if d.Kind == Type || d.Kind == Const {
		return nil, nil // no call in them is made by a running program
	}
	const clause = "package p;"
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "", clause+string(d.Of(text)), parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%s is not Go: %w", d.Symbol(), err)
	}
	var sites []Site
	for _, p := range SitesOf(tree) {
		at := fset.PositionFor(p, false)
		sites = append(sites, Site{Offset: d.Start + at.Offset - len(clause), Line: d.Line + at.Line - 1})
	}
	return sites, nil
}

// SitesOf is Sites for a declaration's syntax tree: it returns their positions.
func SitesOf(decl ast.Node) []token.Pos {
	var sites []token.Pos
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sites = append(sites, n.Lparen)
		case *ast.RangeStmt:
			sites = append(sites, n.Range)
		}
		return true
	})
	slices.Sort(sites)
	return sites
}
