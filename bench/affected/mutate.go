package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"strconv"
)

// mutation is one small change of a function, as an edit of its file.
type mutation struct {
	What       string
	Start, End int    // bytes of the file
	New        string // in their place
}

func (m mutation) apply(text []byte) []byte {
	return []byte(string(text[:m.Start]) + m.New + string(text[m.End:]))
}

// mutations lists what can be changed in a function of a file.
func mutations(text []byte, name string, line int) ([]mutation, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Body != nil && fset.Position(f.Pos()).Line == line {
			return inFunction(f, at, text), nil
		}
	}
	return nil, fmt.Errorf("%s:%d: no function begins there", name, line)
}

// others are the operators that an operator becomes.
var others = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND, token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
}

func inFunction(f *ast.FuncDecl, at func(token.Pos) int, text []byte) (out []mutation) {
	add := func(what string, from, to token.Pos, text string) {
		out = append(out, mutation{what, at(from), at(to), text})
	}
	if zero, ok := zeros(f, at, text); ok && len(f.Body.List) > 0 {
		add("return the zero value", f.Body.Lbrace+1, f.Body.Lbrace+1, " if true { return "+zero+" };")
	}
	negate := func(cond ast.Expr) {
		if cond != nil {
			add("negate a condition", cond.Pos(), cond.End(), "!("+string(text[at(cond.Pos()):at(cond.End())])+")")
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			negate(n.Cond)
		case *ast.ForStmt:
			negate(n.Cond)
		case *ast.BinaryExpr:
			if op, ok := others[n.Op]; ok {
				add(fmt.Sprintf("%s becomes %s", n.Op, op), n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
			}
		case *ast.BlockStmt:
			drop(n.List, add)
		case *ast.CaseClause:
			drop(n.Body, add)
		case *ast.CommClause:
			drop(n.Body, add)
		case *ast.BasicLit:
			switch {
			case n.Kind == token.INT:
				add("change a constant", n.Pos(), n.End(), "("+n.Value+" + 1)")
			case n.Kind == token.STRING && len(n.Value) > 2:
				add("change a constant", n.Pos(), n.End(), strconv.Quote("mutated"))
			case n.Kind == token.CHAR:
				add("change a constant", n.Pos(), n.End(), "("+n.Value+" + 1)")
			}
		case *ast.Ident:
			if n.Name == "true" || n.Name == "false" {
				add("change a constant", n.Pos(), n.End(), strconv.FormatBool(n.Name == "false"))
			}
		}
		return true
	})
	return out
}

// drop adds the statements that can go without another one being missing.
func drop(list []ast.Stmt, add func(string, token.Pos, token.Pos, string)) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				add("drop a statement", s.Pos(), s.End(), "")
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.IfStmt, *ast.BranchStmt, *ast.SendStmt:
			add("drop a statement", s.Pos(), s.End(), "")
		}
	}
}

// zeros are the zero values of a function's results.
func zeros(f *ast.FuncDecl, at func(token.Pos) int, text []byte) (out string, ok bool) {
	if f.Type.Results == nil {
		return "", true
	}
	for _, r := range f.Type.Results.List {
		for range max(len(r.Names), 1) {
			if out != "" {
				out += ", "
			}
			out += "*new(" + string(text[at(r.Type.Pos()):at(r.Type.End())]) + ")"
		}
	}
	return out, true
}

// pick chooses a mutation: first its kind, so that the many constants do not win.
func pick(list []mutation, r *rand.Rand) mutation {
	var kinds []string
	by := map[string][]mutation{}
	for _, m := range list {
		kind := m.What
		if len(kind) > 7 && (kind[2] == 'b' || kind[3] == 'b') {
			kind = "replace an operator"
		}
		if by[kind] == nil {
			kinds = append(kinds, kind)
		}
		by[kind] = append(by[kind], m)
	}
	some := by[kinds[r.IntN(len(kinds))]]
	return some[r.IntN(len(some))]
}

func writeFile(name string, text []byte) error { return os.WriteFile(name, text, 0o600) }
