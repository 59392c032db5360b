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
type names struct {
	enter, body, args, results string
	marks, own, first, set     string // of lines
	local                      string // what those of variables begin with
	bare                       bool   // without types, which have other meanings in the package
}

// namesFor returns names that no file of a package has.
func namesFor(files [][]byte) names {
	for suffix := ""; ; suffix += "_" {
		prefix := "_tracerag" + suffix + "_"
		if !slices.ContainsFunc(files, func(text []byte) bool { return bytes.Contains(text, []byte(prefix)) }) {
			return names{enter: prefix + "enter", body: prefix + "body", args: prefix + "args", results: prefix + "results",
				marks: prefix + "lines", own: prefix + "own", first: prefix + "first", set: prefix + "set", local: prefix}
		}
	}
}

// rewrite returns the text of a Go file in which each function begins with a call of the recorder. What is
// inserted is on the line of what it is for, so that no line gets another number. The first file of each
// package declares the names. With values, arguments and results are kept, too, and with lines it gets their marks: then it is to be rewritten
// after the others.
func rewrite(name string, text []byte, call names, values bool, lines *liner, declare bool) (out []byte, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	r := &rewriter{file: fset.File(file.FileStart), call: call, keeps: values, moved: bytes.Contains(text, []byte("//line ")) || bytes.Contains(text, []byte("/*line "))}
	if declare {
		r.insert(file.Name.End(), `; import _ "unsafe"`)
	}
	r.unfit = unfit(file)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
			r.walk(d, true)
		case f.Body == nil:
		case r.unfit[f]:
			r.walk(f.Body, false)
		default:
			r.enter(f.Recv, f.Type, f.Body)
			r.walk(f.Body, true)
		}
	}
	behind := call.declarations(values)
	if lines != nil {
		lines.file(r, file)
		if declare {
			// The variable is the first of the package, and depends on none: it is initialised before whatever has marks. Anywhere
			// else what depends on it would be initialised later than it is.
			variables, functions, err := lines.declare()
			if err != nil {
				return nil, err
			}
			r.insert(importsEnd(file), variables)
			behind = append(behind, functions...)
		}
	}
	slices.SortStableFunc(r.inserted, func(a, b insertion) int { return a.at - b.at })
	at := 0
	for _, i := range r.inserted {
		out = append(append(out, text[at:i.at]...), i.text...)
		at = i.at + i.instead
	}
	out = append(out, text[at:]...)
	if declare {
		out = append(out, behind...)
	}
	return out, nil
}

// importsEnd is the place behind a file's last import, or its package's name.
func importsEnd(file *ast.File) token.Pos {
	at := file.Name.End()
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			at = g.End()
		}
	}
	return at
}

// declarations are those of the names.
func (n names) declarations(values bool) []byte {
	link := func(b []byte, local, name, directive, signature string) []byte {
		return fmt.Appendf(b, "\n//go:linkname %s runtime.tracerag_%s\n%sfunc %s%s\n", local, name, directive, local, signature)
	}
	if n.bare {
		return link(link(nil, n.enter, "enter", "", "()"), n.body, "body", "", "()")
	}
	out := link(nil, n.enter, "enter", "", "() uintptr")
	out = link(out, n.body, "body", "", "()")
	if values {
		// What is pointed to stays on the stack.
		out = link(out, n.args, "args", "//go:noescape\n", "(uintptr, string, int, ...interface{}) bool")
		out = link(out, n.results, "results", "", "()")
	}
	return out
}

// redeclares reports whether a file gives a package, or itself, another meaning of a type that declarations of the recorder's have.
func redeclares(file *ast.File) bool {
	types := []string{"bool", "int", "string", "uint8", "uint32", "uintptr"}
	is := func(name string) bool { return slices.Contains(types, name) }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && is(d.Name.Name) {
				return true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if is(s.Name.Name) {
						return true
					}
				case *ast.ValueSpec:
					if slices.ContainsFunc(s.Names, func(id *ast.Ident) bool { return is(id.Name) }) {
						return true
					}
				case *ast.ImportSpec:
					// A package's own name is mostly an element of its path.
					if s.Name != nil && is(s.Name.Name) || s.Name == nil && slices.ContainsFunc(strings.Split(strings.Trim(s.Path.Value, "\"`"), "/"), is) {
						return true
					}
				}
			}
		}
	}
	return false
}

type insertion struct {
	at, instead int // of so many bytes
	text        string
}

type rewriter struct {
	file     *token.File
	call     names
	keeps    bool // values
	moved    bool // the file says of parts of it that they are of others
	inserted []insertion
	named    int // parameters that got a name
	unfit    map[*ast.FuncDecl]bool
}

// insert inserts a text. What is behind it keeps its column, by which the compiler names it.
func (r *rewriter) insert(at token.Pos, text string) {
	if p := r.file.PositionFor(at, false); !r.moved {
		text += fmt.Sprintf("/*line :%d:%d*/", p.Line, p.Column)
	}
	r.inserted = append(r.inserted, insertion{at: r.file.Offset(at), text: text})
}

// enter has a function begin with a call.
func (r *rewriter) enter(recv *ast.FieldList, typ *ast.FuncType, body *ast.BlockStmt) {
	text := r.call.enter + "();"
	if r.keeps {
		text = r.values(recv, typ)
	}
	r.insert(body.Lbrace+1, text)
}

// walk finds function literals, and loops whose body may be a function: that of an iterator's. Outside of literals such a body may be
// the function's own code: then it has room for a call if the function has.
func (r *rewriter) walk(n ast.Node, room bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			r.enter(nil, n.Type, n.Body)
			r.walk(n.Body, true)
			return false
		case *ast.RangeStmt:
			if room && mayIterate(n.X) {
				r.insert(n.Body.Lbrace+1, r.call.body+"();")
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

// unfit returns the functions of a file that may not, or should not, call the recorder. As for the compiler, a directive is for the declaration
// that follows, with anything but another declaration between them.
func unfit(file *ast.File) map[*ast.FuncDecl]bool {
	out := map[*ast.FuncDecl]bool{}
	comments, end := file.Comments, file.Name.End()
	for _, d := range file.Decls {
		for ; len(comments) > 0 && comments[0].Pos() < d.Pos(); comments = comments[1:] {
			if f, ok := d.(*ast.FuncDecl); ok && comments[0].Pos() > end && slices.ContainsFunc(comments[0].List, forbids) {
				out[f] = true
			}
		}
		if f, ok := d.(*ast.FuncDecl); ok && mayBeNothing(f) {
			out[f] = true
		}
		for end = d.End(); len(comments) > 0 && comments[0].Pos() < end; {
			comments = comments[1:]
		}
	}
	return out
}

// forbids reports whether a comment says that the stack has no room for a call, or that the function is the runtime's.
func forbids(c *ast.Comment) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(c.Text), " ")
	return slices.Contains([]string{"//go:nosplit", "//go:systemstack", "//go:nowritebarrier", "//go:nowritebarrierrec"}, word)
}

// mayBeNothing reports whether the compiler may leave out an initialiser, because all that it does is below conditions that may be
// constants. A package that has an initialiser more than it had is initialised at another time. Which conditions
// are constants is not known here.
func mayBeNothing(f *ast.FuncDecl) bool {
	if f.Recv != nil || f.Name.Name != "init" || f.Body == nil {
		return false
	}
	for _, s := range f.Body.List {
		if i, ok := s.(*ast.IfStmt); !ok || i.Init != nil || i.Else != nil || !mayBeConstant(i.Cond) {
			return false
		}
	}
	return true
}

// mayBeConstant reports whether an expression calls nothing but len, cap and conversions to predeclared types.
func mayBeConstant(x ast.Expr) bool {
	constant := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			constant = constant && ok && returning[id.Name]
		case *ast.UnaryExpr:
			constant = constant && n.Op != token.ARROW && n.Op != token.AND
		case *ast.FuncLit, *ast.CompositeLit, *ast.StarExpr, *ast.TypeAssertExpr, *ast.IndexExpr, *ast.SliceExpr:
			constant = false
		}
		return constant
	})
	return constant
}
