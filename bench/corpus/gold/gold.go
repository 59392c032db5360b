// Package gold makes edits of real fixes: whole declarations, as a model gives them.
package gold

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/repair/patch"
)

// Edit returns what a fix changed in a file as an edit: the declarations of the fix that are not
// to the byte in the base, and the names that the fix no longer has. imports says whether the
// fix's imports are named.
func Edit(name string, base, fix []byte, imports bool) (e patch.Edit, changed []string) {
	before, after := code.Parse(base), code.Parse(fix)
	var b strings.Builder
	if imports && len(after.Imports) > 0 {
		for _, i := range after.Imports {
			if i.Path != "C" {
				fmt.Fprintf(&b, "import %s %q\n", i.Name, i.Path)
			}
		}
		b.WriteString("\n")
	}
	was := map[string]bool{}
	for i := range before.Decls {
		d := &before.Decls[i]
		was[string(d.With(base))] = true
	}
	for i := range after.Decls {
		d := &after.Decls[i]
		text := d.With(fix)
		if was[string(text)] && !nameless(d) {
			continue
		}
		if !was[string(text)] {
			changed = append(changed, d.Symbol())
		}
		if d.Kind == code.Type && !bytes.HasPrefix(d.Span.Of(fix), []byte("type")) {
			fmt.Fprintf(&b, "type (\n\t%s\n)\n\n", text)
		} else {
			fmt.Fprintf(&b, "%s\n\n", text)
		}
	}
	e = patch.Edit{File: name, Text: b.String()}
	if len(changed) == 0 && !imports {
		e.Text = ""
	}
	have := Names(after)
	for _, n := range Names(before) {
		if !slices.Contains(have, n) {
			e.Delete = append(e.Delete, n)
		}
	}
	return e, changed
}

func nameless(d *code.Decl) bool { return d.Name == "_" || d.Name == "init" && d.Kind == code.Func }

// Names returns the names that a file declares.
func Names(f *code.File) []string {
	var out []string
	for i := range f.Decls {
		d := &f.Decls[i]
		if len(d.Names) == 0 {
			out = append(out, d.Symbol())
		}
		for _, n := range d.Names {
			if n != "_" {
				out = append(out, n)
			}
		}
	}
	return out
}
