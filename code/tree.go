package code

import (
	"go/ast"
	"go/token"
	"slices"
)

// Tree is the syntax of a file's declarations.
type Tree struct {
	nodes []node
	lines []int
}

// node is the syntax of a declaration, and where it is.
type node struct {
	ast.Node
	at positions
}

// positions turns positions in a piece that was parsed into offsets in the file.
type positions struct {
	piece piece
	fset  *token.FileSet
	pos   *token.File
}

// Node returns the syntax of a declaration by its place in [File.Decls]: an *ast.FuncDecl, the
// *ast.TypeSpec of a type, the *ast.GenDecl of constants and variables; nil of one that is too
// broken.
func (t *Tree) Node(decl int) ast.Node { return t.nodes[decl].Node }

// Offset returns where a position in the syntax of a declaration is. Trees of broken files have positions that
// are missing or past the end; the result is inside the text.
func (t *Tree) Offset(decl int, p token.Pos) int { return t.nodes[decl].at.offset(p) }

// Line returns the line, from 1, of an offset.
func (t *Tree) Line(offset int) int { return lineOf(t.lines, offset) }

// Said returns the file and line that //line directives say an offset in a declaration has. ok is false where
// none is known: in files with syntax errors, which are read in pieces.
func (t *Tree) Said(decl, offset int) (file string, line int, ok bool) {
	at := &t.nodes[decl].at
	if at.fset == nil || at.piece.start > 0 || at.piece.before > 0 || offset > at.pos.Size() {
		return "", 0, false
	}
	p := at.fset.PositionFor(at.pos.Pos(offset), true)
	return p.Filename, p.Line, true
}

func (p *positions) offset(of token.Pos) int {
	if !of.IsValid() || p.pos == nil {
		return p.piece.start
	}
	at := int(of) - p.pos.Base() - p.piece.before + p.piece.start
	return min(max(at, p.piece.start), p.piece.end)
}

// lineOf is the line of an offset, whatever //line directives say.
func lineOf(lines []int, offset int) int {
	i, found := slices.BinarySearch(lines, offset)
	if found {
		i++
	}
	return i
}
