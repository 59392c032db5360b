package patch

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"tracerag/code"
)

// importDecl is an import declaration as it is written.
type importDecl struct {
	place
	node  *ast.GenDecl
	group bool
	specs []importSpec
}

type importSpec struct {
	place
	imported
}

func (s *source) importDecls() []importDecl {
	var out []importDecl
	for _, d := range s.tree.Decls {
		n, ok := d.(*ast.GenDecl)
		if !ok || n.Tok != token.IMPORT {
			continue
		}
		x := importDecl{node: n, group: n.Lparen.IsValid()}
		x.span, x.doc = s.span(n.Pos(), n.End()), s.comments(n.Doc)
		x.tail = s.behind(x.span.End)
		for _, spec := range n.Specs {
			spec := spec.(*ast.ImportSpec)
			y := importSpec{imported: importedBy(spec)}
			y.span, y.doc = s.span(spec.Pos(), spec.End()), s.comments(spec.Doc)
			y.tail = s.behind(y.span.End)
			x.specs = append(x.specs, y)
		}
		out = append(out, x)
	}
	return out
}

// addImports adds imports to a file; those that are there keep their bytes.
func addImports(s *source, add []imported) []byte {
	if len(add) == 0 {
		return s.text
	}
	slices.SortFunc(add, func(a, b imported) int { return strings.Compare(a.path, b.path) })
	eol := ending(s.text)
	decls := s.importDecls()
	// import "C" has its preamble above it, and stays alone.
	plain := slices.DeleteFunc(slices.Clone(decls), func(d importDecl) bool {
		return slices.ContainsFunc(d.specs, func(i importSpec) bool { return i.path == "C" })
	})
	var out splices
	lines := func(indent string) string {
		var b strings.Builder
		for i, x := range add {
			if i > 0 && class(x.path) != class(add[i-1].path) {
				b.WriteString(eol)
			}
			b.WriteString(indent + x.String() + eol)
		}
		return b.String()
	}
	slices.SortStableFunc(add, func(a, b imported) int { return class(a.path) - class(b.path) })
	if i := slices.IndexFunc(plain, func(d importDecl) bool { return d.group }); i >= 0 {
		for _, x := range add {
			addToGroup(s, plain[i], x, eol, &out)
		}
	} else if len(plain) == 1 && len(plain[0].specs) == 1 && plain[0].doc.Len() == 0 && alone(s.text, plain[0].whole()) {
		// One import becomes a group, as is usual for several.
		d := plain[0]
		from := d.specs[0].span.Start
		out.replace(d.span.Start, from, []byte("import ("+eol+"\t"))
		out.insert(d.to(), []byte(eol+")"), "")
		text, _ := out.apply(s.text)
		if grouped, problems := parse(text, false); problems == nil {
			return addImports(grouped, add)
		}
		return s.text
	} else {
		at, clause := s.offset(s.tree.Name.End()), true
		for _, d := range decls {
			at, clause = d.to(), clause && len(plain) == 0
		}
		if len(plain) > 0 {
			at = plain[len(plain)-1].to()
		}
		if tail := s.behind(at); tail.Len() > 0 {
			at = tail.End
		}
		i := at
		for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
			i++
		}
		if i < len(s.text) && s.text[i] == ';' {
			at = i + 1
		}
		text := eol
		if clause {
			text += eol
		}
		if len(add) == 1 || len(plain) > 0 {
			for i, x := range add {
				if i > 0 {
					text += eol
				}
				text += "import " + x.String()
			}
		} else {
			text += "import (" + eol + lines("\t") + ")"
		}
		if !restBlank(s.text, at) {
			text += eol
		}
		out.insert(at, []byte(text), "")
	}
	text, _ := out.apply(s.text)
	return text
}

// addToGroup adds an import to a group: among those of its kind, in their order.
func addToGroup(s *source, d importDecl, x imported, eol string, out *splices) {
	if len(d.specs) == 0 || !restBlank(s.text, s.offset(d.node.Lparen)+1) {
		at := s.offset(d.node.Lparen) + 1
		out.insert(at, []byte(eol+"\t"+x.String()+eol), "\t")
		return
	}
	// Sections are separated by blank lines.
	var sections [][]importSpec
	for i, y := range d.specs {
		if i == 0 || bytes.Count(s.text[d.specs[i-1].to():y.from()], []byte("\n")) > 1 {
			sections = append(sections, nil)
		}
		last := len(sections) - 1
		sections[last] = append(sections[last], y)
	}
	best, score := -1, -1
	for i, section := range sections {
		if class(section[0].path) != class(x.path) {
			continue
		}
		for _, y := range section {
			if n := common(y.path, x.path); n > score {
				best, score = i, n
			}
		}
	}
	indent := "\t"
	if best < 0 {
		if class(x.path) == 0 {
			at := lineStart(s.text, d.specs[0].from())
			out.insert(at, []byte(indent+x.String()+eol), eol)
			return
		}
		at := lineEnd(s.text, d.specs[len(d.specs)-1].to())
		first := eol
		if n := len(*out); n > 0 && (*out)[n-1].Start == at && (*out)[n-1].End == at {
			first = ""
		}
		out.insert(at, []byte(first+eol+indent+x.String()), "")
		return
	}
	section := sections[best]
	for _, y := range section {
		if y.path > x.path && alone(s.text, y.whole()) {
			out.insert(lineStart(s.text, y.from()), []byte(indent+x.String()+eol), "")
			return
		}
	}
	out.insert(lineEnd(s.text, section[len(section)-1].to()), []byte(eol+indent+x.String()), "")
}

// class is 0 of the standard library.
func class(p string) int {
	first, _, _ := strings.Cut(p, "/")
	if strings.Contains(first, ".") {
		return 1
	}
	return 0
}

// common counts the elements that two paths begin with.
func common(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}

// removeImports removes imports from a file, each once.
func removeImports(s *source, remove []imported) []byte {
	remove = slices.Clone(remove)
	var cut []code.Span
	for _, d := range s.importDecls() {
		var gone []importSpec
		for _, x := range d.specs {
			if i := slices.Index(remove, x.imported); i >= 0 {
				remove = slices.Delete(remove, i, i+1)
				gone = append(gone, x)
			}
		}
		if len(gone) > 0 && len(gone) == len(d.specs) {
			cut = append(cut, d.whole())
			continue
		}
		for _, x := range gone {
			cut = append(cut, x.whole())
		}
	}
	text := s.text
	for _, c := range slices.Backward(cut) {
		c = removal(text, c)
		// No blank line behind "(" or before ")".
		if above := lineStart(text, max(0, c.Start-1)); c.Start > 0 && bytes.HasSuffix(bytes.TrimSpace(text[above:c.Start]), []byte("(")) {
			c.End = blankAfter(text, c.End)
		} else if rest := text[c.End:]; bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte(")")) && c.Start == lineStart(text, c.Start) {
			c.Start = blankBefore(text, c.Start)
		}
		text = slices.Concat(text[:c.Start], text[c.End:])
	}
	return text
}
