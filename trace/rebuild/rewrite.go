package rebuild

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// names are the identifiers that a package calls the recorder by.
type names struct{ enter, body string }

// namesFor returns names that no file of a package has.
func namesFor(files [][]byte) names {
	for suffix := ""; ; suffix += "_" {
		n := names{"_tracerag_enter" + suffix, "_tracerag_body" + suffix}
		if !slices.ContainsFunc(files, func(text []byte) bool {
			return bytes.Contains(text, []byte(n.enter)) || bytes.Contains(text, []byte(n.body))
		}) {
			return n
		}
	}
}

// rewrite returns the text of a Go file in which each function begins with a call of the recorder. What is
// inserted is on the line of what it is for, so that no line gets another number. One file of each
// package declares the names.
func rewrite(name string, text []byte, call names, declare bool) (out []byte, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	r := &rewriter{file: fset.File(file.FileStart), call: call, moved: bytes.Contains(text, []byte("//line ")) || bytes.Contains(text, []byte("/*line "))}
	if declare {
		r.insert(file.Name.End(), `; import _ "unsafe"`)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			r.walk(d)
			continue
		}
		if f.Body == nil {
			continue
		}
		if fit(f) {
			r.enter(f.Body, call.enter)
		}
		r.walk(f.Body)
	}
	slices.SortStableFunc(r.inserted, func(a, b insertion) int { return a.at - b.at })
	at := 0
	for _, i := range r.inserted {
		out = append(append(out, text[at:i.at]...), i.text...)
		at = i.at
	}
	out = append(out, text[at:]...)
	if declare {
		out = fmt.Appendf(out, "\n//go:linkname %s runtime.tracerag_enter\nfunc %s()\n\n//go:linkname %s runtime.tracerag_body\nfunc %s()\n", call.enter, call.enter, call.body, call.body)
	}
	return out, nil
}

type insertion struct {
	at   int
	text string
}

type rewriter struct {
	file     *token.File
	call     names
	moved    bool // the file says of parts of it that they are of others
	inserted []insertion
}

// insert inserts a text. What is behind it keeps its column, by which the compiler names it.
func (r *rewriter) insert(at token.Pos, text string) {
	if p := r.file.PositionFor(at, false); !r.moved {
		text += fmt.Sprintf("/*line :%d:%d*/", p.Line, p.Column)
	}
	r.inserted = append(r.inserted, insertion{r.file.Offset(at), text})
}

// enter has a block begin with a call.
func (r *rewriter) enter(b *ast.BlockStmt, call string) { r.insert(b.Lbrace+1, call+"();") }

// walk finds function literals, and loops whose body may be a function: that of an iterator's.
func (r *rewriter) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			r.enter(n.Body, r.call.enter)
		case *ast.RangeStmt:
			if mayIterate(n.X) {
				r.enter(n.Body, r.call.body)
			}
		}
		return true
	})
}

// mayIterate reports whether an expression may be a function. Types are not known here: what
// is called for nothing finds out at run time, in the frame of its caller.
func mayIterate(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit, *ast.CompositeLit, *ast.SliceExpr, *ast.BinaryExpr:
		return false
	case *ast.UnaryExpr:
		return x.Op == token.ARROW // what a channel has
	case *ast.ParenExpr:
		return mayIterate(x.X)
	case *ast.CallExpr:
		switch x.Fun.(type) {
		case *ast.ArrayType, *ast.MapType: // conversions
			return false
		}
	}
	return true
}

// fit reports whether a function may call the recorder.
func fit(f *ast.FuncDecl) bool {
	return f.Doc == nil || !slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool {
		word, _, _ := strings.Cut(strings.TrimSpace(c.Text), " ")
		// The stack has no room for a call, or the function is the runtime's.
		return slices.Contains([]string{"//go:nosplit", "//go:systemstack", "//go:nowritebarrier", "//go:nowritebarrierrec"}, word)
	})
}
