package affected

import (
	"path"
	"strings"

	"tracerag/code"
	"tracerag/repair/patch"
)

// Changes lists what a patch changes, as far as it can change what a program does: layout and comments are no
// changes. Where more than declarations change (an import for its effects, a build constraint, a package's name, a
// file that is not Go's), it is the file.
func Changes(p patch.Patch) (out []Change) {
	whole := map[string]bool{}
	for _, f := range p.Files {
		if strings.HasSuffix(f.Name, ".go") {
			before, after := code.Parse(f.Before), code.Parse(f.After)
			same := f.After != nil && before.Package == after.Package && before.Constraint == after.Constraint
			if f.Before == nil || same && len(before.Errors)+len(after.Errors) == 0 && keepsEffects(before, after) {
				continue
			}
		}
		whole[f.Name] = true
		out = append(out, Change{File: f.Name})
	}
	for _, c := range p.Changed() {
		if !whole[c.File] && c.How != patch.Formatted && c.How != patch.Comments {
			out = append(out, Change{c.File, c.Symbol})
		}
	}
	return out
}

// keepsEffects reports whether what a file imports for the names alone is all that changes in its
// imports: a package that comes to be imported for its effects, or another package under an old name, may matter to
// all that the file declares.
func keepsEffects(before, after *code.File) bool {
	names := func(f *code.File) map[string]string {
		m := map[string]string{}
		for _, i := range f.Imports {
			switch i.Name {
			case "_", ".":
				m[i.Name+i.Path] = i.Path
			case "":
				m[path.Base(i.Path)] = i.Path
			default:
				m[i.Name] = i.Path
			}
		}
		return m
	}
	a, b := names(before), names(after)
	for name, p := range b {
		if old, ok := a[name]; ok && old != p || !ok && strings.IndexAny(name, "_.") == 0 {
			return false
		}
	}
	for name := range a {
		if _, ok := b[name]; !ok && strings.IndexAny(name, "_.") == 0 {
			return false
		}
	}
	return true
}
