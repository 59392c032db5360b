package source

import (
	"slices"
	"strconv"
	"strings"

	"tracerag/trace/symbol"
)

// query is what is looked for in a file.
type query struct {
	sym    symbol.Parts
	symbol string // the linker name whole, for //go:linkname
	base   string // last element of the file's name in the binary
	line   int
	// What is known of the file's age: sure, it is what was compiled; newer,
	// it was changed since. Neither when the binary's age is not known.
	sure, newer bool
}

// hit is a declaration or a part of one.
type hit struct {
	span
	decl  *decl
	part  *part // nil: the declaration itself
	moved bool  // found by name, at another line than the binary's
	// wrapper: a closure that the compiler made inside decl, not the source.
	wrapper bool
}

// in looks for the function in a file: by position and name, then by name.
func (q query) in(f *file) (hit, bool) {
	if len(q.sym.Tail) > 0 || q.sym.Initialiser {
		return q.closureIn(f)
	}
	return q.declIn(f)
}

// declIn finds a declared function by its name. Several may share it: init
// functions, functions named _, TEXT blocks under different conditions. Then
// the line decides.
func (q query) declIn(f *file) (hit, bool) {
	name := q.sym.Declaration()
	// A function published under a foreign name may have a namesake here.
	if local, ok := f.linknames[symbol.Unescape(q.symbol)]; ok {
		name = local
	}
	d := q.declNamed(f, name)
	if d == nil {
		d = q.declAliased(f)
	}
	if d == nil && strings.HasSuffix(f.path, ".s") {
		if m, ok := macroLine(f, q.sym.Declaration(), q.line); ok {
			d = &m
		}
	}
	if d == nil {
		return hit{}, false
	}
	return hit{span: d.span, decl: d, moved: !q.fits(f, d)}, true
}

// declNamed returns the declaration of that name that fits the line best.
func (q query) declNamed(f *file, name string) *decl {
	var named []*decl
	for i := range f.decls {
		if d := &f.decls[i]; d.has(name) {
			named = append(named, d)
		}
	}
	for _, d := range named {
		if d.at(f, q.base, q.line) {
			return d
		}
	}
	for _, d := range named {
		if q.fits(f, d) && q.line > 0 {
			return d
		}
	}
	switch {
	case len(named) == 0:
		return nil
	case q.line == 0 && q.sym.InitNo > 0:
		// Right when all init functions of the package are in this file.
		return named[min(q.sym.InitNo, len(named)-1)]
	}
	return named[0]
}

// declAliased finds a method whose receiver is written by an alias of its type:
// where the line and the method's own name agree.
func (q query) declAliased(f *file) *decl {
	if len(q.sym.Decl) != 2 {
		return nil
	}
	for i := range f.decls {
		d := &f.decls[i]
		if d.at(f, q.base, q.line) && strings.HasSuffix(d.names[0], "."+q.sym.Decl[1]) {
			return d
		}
	}
	return nil
}

// fits reports whether the declaration may be where the binary says. The line
// may be that of the first instruction rather than that of the func keyword.
func (q query) fits(f *file, d *decl) bool {
	// A //line directive inside the declaration gives its parts another file.
	return q.line == 0 || d.around(f, q.base, q.line) || f.directed && d.base(f) != q.base
}

// closureIn finds a part of a declaration.
func (q query) closureIn(f *file) (hit, bool) {
	if p := q.partAt(f, span.at); p != nil {
		return q.partHit(f, p, false), true
	}
	if q.sym.Initialiser {
		for i := range f.decls {
			if d := &f.decls[i]; d.variable && q.line > 0 && q.fits(f, d) {
				return hit{span: d.span, decl: d}, true
			}
		}
		return hit{}, false
	}
	for _, name := range declNames(q.sym) {
		d := q.declNamed(f, name)
		if d == nil {
			continue
		}
		p := q.numbered(f, d)
		if p == nil && q.line > 0 {
			// The number is of no use in a copy; the line of the first
			// instruction is below that of the func keyword.
			if in := q.partAt(f, span.around); in != nil && &f.decls[in.decl] == d && f.depth(in) == q.depth() {
				p = in
			}
		}
		if p != nil && (q.line == 0 || p.around(f, q.base, q.line)) {
			return q.partHit(f, p, false), true
		}
		if q.line > 0 && q.fits(f, d) && (q.sure || p == nil && !q.newer) {
			// No literal begins at this line of the right function: the
			// compiler made a closure of something else, such as a generic
			// function used as a value.
			return hit{span: d.span, decl: d, wrapper: true}, true
		}
		if p != nil {
			return q.partHit(f, p, true), true
		}
	}
	return hit{}, false
}

// partHit is the part itself, or the whole of the variable that it belongs to.
func (q query) partHit(f *file, p *part, moved bool) hit {
	d := &f.decls[p.decl]
	if d.variable {
		return hit{span: d.span, decl: d, moved: moved}
	}
	return hit{span: p.span, decl: d, part: p, moved: moved}
}

// partAt returns the part that is at the line, in the sense given. Of several
// that one is taken which has the closure's number, or else is as deep as its
// name says in a declaration of its name.
func (q query) partAt(f *file, is func(s span, f *file, base string, line int) bool) *part {
	var best *part
	bestScore := 0
	names := declNames(q.sym)
	for i := range f.parts {
		p := &f.parts[i]
		if p.kind != q.kind() || !is(p.span, f, q.base, q.line) {
			continue
		}
		score := 1
		d := &f.decls[p.decl]
		if d.variable == q.sym.Initialiser && (d.variable || slices.ContainsFunc(names, d.has)) {
			score = 2
			if q.numbered(f, d) == p {
				score = 4
			} else if q.depth() == f.depth(p) {
				score = 3
			}
		}
		if score > bestScore {
			best, bestScore = p, score
		}
	}
	return best
}

// kind is the kind of part that the last suffix represents.
func (q query) kind() partKind {
	if len(q.sym.Tail) > 0 {
		switch last := q.sym.Tail[len(q.sym.Tail)-1]; {
		case strings.HasPrefix(last, "-range"):
			return rangeBody
		case strings.HasPrefix(last, "gowrap"):
			return goStmt
		case strings.HasPrefix(last, "deferwrap"):
			return deferStmt
		}
	}
	return literal
}

// depth is the number of literals around a part.
func (f *file) depth(p *part) int {
	n := 0
	for o := p.outer; o >= 0; o = f.parts[o].outer {
		n++
	}
	return n
}

// depth is that of the closure's name: "func1.2" is a literal in a literal.
func (q query) depth() int {
	n := -1
	for i, seg := range q.sym.Tail {
		if i == len(q.sym.Tail)-1 || !strings.HasPrefix(seg, "-range") {
			n++
		}
	}
	return n
}

// numbered walks from a declaration to the part that the numbers of the
// closure's name lead to. Loops, go and defer statements are only taken when
// there is no other of their kind: the compiler does not number all of them.
func (q query) numbered(f *file, d *decl) *part {
	outer := -1
	var at *part
	for i, seg := range q.sym.Tail {
		if i < len(q.sym.Tail)-1 && strings.HasPrefix(seg, "-range") {
			continue // literals in a loop's body are numbered with those around it
		}
		if at != nil && at.kind != literal {
			return nil
		}
		want := query{sym: symbol.Parts{Tail: []string{seg}}}.kind()
		number := strings.TrimLeft(seg, "-abcdefghijklmnopqrstuvwxyz")
		at = nil
		for i := range f.parts {
			p := &f.parts[i]
			if &f.decls[p.decl] != d || p.outer != outer || p.kind != want {
				continue
			}
			if want == literal {
				if number == strconv.Itoa(p.number) {
					at, outer = p, i
					break
				}
				continue
			}
			if at != nil {
				return nil
			}
			at = p
		}
		if at == nil {
			return nil
		}
	}
	return at
}

// declNames are the names that the declaration may have in its file, the
// likeliest first. A literal of an inlined function carries the names of all
// functions around it, so that each tail of the list may be the declaration.
func declNames(s symbol.Parts) []string {
	names := []string{s.Declaration()}
	if len(s.Tail) > 0 {
		for i := 1; i < len(s.Decl); i++ {
			names = append(names, strings.Join(s.Decl[i:], "."))
		}
	}
	return names
}
