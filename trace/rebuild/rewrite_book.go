package rebuild

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"go/ast"
	"strconv"
)

// piece is something on a line that runs. The line did not run if the mark is not set, it ran if sure is, and otherwise it is
// not known. A quiet piece has no code that could tell, unless sure is set.
type piece struct {
	line       int
	mark, sure int // positive: a mark; negative: one of lineBook.either; 0: nothing
	quiet      bool
}

// Kinds of functions with lines.
const (
	declared = iota
	literal
	loop  // the body of a loop, which is a function if what the loop is over is an iterator
	given // a loop that is no function
)

// lined is a function and its pieces.
type lined struct {
	kind   int
	name   string // of what is declared: "F", "(*T[...]).M"
	around int    // the function around it, or -1
	file   string // without its directory
	line   int    // where it begins
	entry  int    // the first mark
	pieces []piece
}

// lineBook is what is known of the lines of a package.
type lineBook struct {
	path   string
	marks  int      // the highest
	either [][2]int // evidence of which one is enough; -1 is the first
	funcs  []lined
}

// anyOf returns the evidence that one of two is there.
func (b *lineBook) anyOf(m, n int) int {
	switch {
	case m == 0 || m == n:
		return n
	case n == 0:
		return m
	}
	b.either = append(b.either, [2]int{m, n})
	return -len(b.either)
}

// describe returns what the compiled program carries: compressed, since a large program has much of it.
func (b *lineBook) describe() ([]byte, error) {
	var raw []byte
	number := func(n int) { raw = binary.AppendVarint(raw, int64(n)) }
	text := func(s string) { number(len(s)); raw = append(raw, s...) }
	text(b.path)
	number(b.marks)
	number(len(b.either))
	for _, e := range b.either {
		number(e[0])
		number(e[1])
	}
	number(len(b.funcs))
	file := ""
	for i, f := range b.funcs {
		number(f.kind)
		text(f.name)
		number(i - f.around)
		if f.file == file {
			text("")
		} else {
			text(f.file)
			file = f.file
		}
		number(f.line)
		number(f.entry)
		number(len(f.pieces))
		line, mark := f.line, f.entry
		for _, p := range f.pieces {
			number(p.line - line)
			number(p.mark - mark)
			form := 0
			switch {
			case p.sure == 0:
				form = 1
			case p.sure != p.mark:
				form = 2
			}
			if p.quiet {
				form += 3
			}
			number(form)
			if form%3 == 2 {
				number(p.sure)
			}
			line, mark = p.line, p.mark
		}
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// declare returns what the first file of the package has of its own for marks: variables, behind its imports, and functions, behind all. All of
// it is data: no initialiser runs.
func (l *liner) declare() (variables, functions string, err error) {
	if l.book.marks == 0 {
		return "", "", nil
	}
	says, err := l.book.describe()
	if err != nil {
		return "", "", err
	}
	n, size := l.names, l.book.marks+1
	typ := fmt.Sprintf("struct{at *[%d]uint8; state uint32; size uintptr; says string}", size)
	variables = fmt.Sprintf("; var %s [%d]uint8; var %s = %s{at: &%[1]s, size: %[2]d, says: %[5]s}", n.own, size, n.marks, typ, strconv.QuoteToASCII(string(says)))
	functions = fmt.Sprintf("\n//go:linkname %s runtime.tracerag_lines\nfunc %s(*%s, uintptr)\n", n.first, n.first, typ)
	if l.call {
		functions += fmt.Sprintf("\n//go:linkname %s runtime.tracerag_line\nfunc %s(*%s, uintptr)\n", n.set, n.set, typ)
	}
	return variables, functions, nil
}

// declaredName is a function's name as the linker has it, behind the package, without what types it is for.
func declaredName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		if f.Type.TypeParams != nil {
			return f.Name.Name + "[...]"
		}
		return f.Name.Name
	}
	pointer, of := "", ""
	x := f.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.ParenExpr:
			x = t.X
			continue
		case *ast.StarExpr:
			pointer, x = "*", t.X
			continue
		case *ast.IndexExpr:
			of, x = "[...]", t.X
			continue
		case *ast.IndexListExpr:
			of, x = "[...]", t.X
			continue
		case *ast.Ident:
			if pointer != "" {
				return "(*" + t.Name + of + ")." + f.Name.Name
			}
			return t.Name + of + "." + f.Name.Name
		}
		return ""
	}
}
