package probe

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A counter is what coverage says of a piece of text.
type counter struct {
	line, column, endLine, endColumn int
	ran                              bool
}

func (c counter) holds(p token.Position) bool {
	return (p.Line > c.line || p.Line == c.line && p.Column >= c.column) && (p.Line < c.endLine || p.Line == c.endLine && p.Column < c.endColumn)
}

// statements reads a coverage profile for one file, whose base name no other has.
// It returns, for each function, the lines on which statements begin and whether
// any of these ran. What is in function literals is left out.
func statements(t *testing.T, file, profile string) map[string]map[int]bool {
	t.Helper()
	var counters []counter
	for line := range strings.Lines(profile) {
		name, rest, ok := strings.Cut(line, ":")
		if !ok || filepath.Base(name) != filepath.Base(file) {
			continue
		}
		var c counter
		var n, times int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &c.line, &c.column, &c.endLine, &c.endColumn, &n, &times); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		c.ran = times > 0
		counters = append(counters, c)
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[int]bool{}
	for _, d := range parsed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		lines := map[int]bool{}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.BlockStmt, *ast.LabeledStmt, *ast.CaseClause, *ast.CommClause:
				return true // no statements of their own
			}
			if _, ok := n.(ast.Stmt); !ok {
				return true
			}
			at := fset.Position(n.Pos())
			for _, c := range counters {
				if c.holds(at) {
					lines[at.Line] = lines[at.Line] || c.ran
					break
				}
			}
			return true
		})
		out["main."+fn.Name.Name] = lines
	}
	return out
}
