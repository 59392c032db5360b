package patch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Imports are settled by what the file uses before and after its declarations were changed.
// golang.org/x/tools/imports knows where names come from, too, but takes no environment: it runs go
// env and go list in the working directory, where a go.mod may name a toolchain to be
// downloaded, and it takes packages from the whole module cache, wherever it has the name
// first. Here nothing of the repository runs, and what is not certain is refused.

// imported is an import of a file.
type imported struct{ name, path string } // name is "" unless it is written

func (i imported) String() string {
	if i.name != "" {
		return i.name + " " + strconv.Quote(i.path)
	}
	return strconv.Quote(i.path)
}

// bound reports whether it gives the file a name.
func (i imported) bound() bool { return i.name != "_" && i.name != "." && i.path != "C" }

func importedBy(s *ast.ImportSpec) imported {
	i := imported{}
	i.path, _ = strconv.Unquote(s.Path.Value)
	if s.Name != nil {
		i.name = s.Name.Name
	}
	return i
}

func (s *source) imports() []imported {
	var out []imported
	for _, x := range s.tree.Imports {
		out = append(out, importedBy(x))
	}
	return out
}

// uses returns what is selected of names that the file itself does not declare: those of packages, and
// of variables that other files declare.
func (s *source) uses(in func(at int) bool) map[string][]string {
	out := map[string][]string{}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		x, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := x.X.(*ast.Ident); ok && id.Obj == nil && in(s.offset(id.Pos())) {
			if !slices.Contains(out[id.Name], x.Sel.Name) {
				out[id.Name] = append(out[id.Name], x.Sel.Name)
			}
		}
		return true
	})
	return out
}

func sameKeys(a, b map[string][]string) bool {
	return slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
}

func anywhere(int) bool { return true }

// settle returns the text of the file with the imports that it needs, and without those that
// nothing uses any more.
func (c *change) settle() ([]byte, error) {
	if bytes.Equal(c.before, c.text) && !slices.ContainsFunc(c.given, func(s *source) bool { return len(s.tree.Imports) > 0 }) {
		return c.text, nil
	}
	after, problems := parse(c.text, false)
	if problems != nil {
		return nil, &Error{Kind: BadSyntax, File: c.name, What: "the file does not parse with the new text", Problems: problems}
	}
	s := &settling{change: c, after: after, used: after.uses(anywhere)}
	have := after.imports()
	var before *source
	if c.before != nil {
		before, _ = parse(c.before, false)
		s.usedBefore = before.uses(anywhere)
		if sameKeys(s.used, s.usedBefore) && !slices.ContainsFunc(c.given, func(g *source) bool {
			return slices.ContainsFunc(g.imports(), func(i imported) bool { return !slices.Contains(have, i) })
		}) {
			return c.text, nil // most changes: the repository need not be looked through
		}
	}
	s.own = c.tree.packageNames(c.name)
	if before != nil {
		same := map[string]bool{}
		for _, d := range before.decls {
			for _, u := range d.units {
				same[u.text(before.text)] = true
			}
		}
		s.changed = after.uses(func(at int) bool {
			for _, d := range after.decls {
				for _, u := range d.units {
					if at >= u.span.Start && at < u.span.End {
						return !same[u.text(after.text)]
					}
				}
			}
			return true
		})
		s.unchanged = after.uses(func(at int) bool {
			for _, d := range after.decls {
				for _, u := range d.units {
					if at >= u.span.Start && at < u.span.End {
						return same[u.text(after.text)]
					}
				}
			}
			return false
		})
	} else {
		s.changed = s.used
	}
	remove := s.unused(have)
	have = slices.DeleteFunc(have, func(i imported) bool { return slices.Contains(remove, i) })
	var add []imported
	for _, g := range c.given {
		if c.before == nil {
			break // they are in the text
		}
		for _, i := range g.imports() {
			if slices.Contains(have, i) {
				continue
			}
			old, ok, err := s.wanted(i, have)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if old != nil {
				remove = append(remove, *old)
				have = slices.DeleteFunc(have, func(x imported) bool { return x == *old })
			}
			remove = slices.DeleteFunc(remove, func(x imported) bool { return x == i })
			have, add = append(have, i), append(add, i)
		}
	}
	missing, err := s.missing(have)
	if err != nil {
		return nil, err
	}
	add = append(add, missing...)
	text := c.text
	splices := []func(*source) []byte{
		func(s *source) []byte { return addImports(s, add) },
		func(s *source) []byte { return removeImports(s, remove) },
	}
	if decls := after.importDecls(); len(decls) == 1 && !decls[0].group && slices.Contains(remove, decls[0].specs[0].imported) {
		slices.Reverse(splices) // one takes the other's place, and needs no group
	}
	for _, splice := range splices {
		if after, problems = parse(text, false); problems == nil {
			text = splice(after)
		}
	}
	if len(add)+len(remove) > 0 {
		if _, problems = parse(text, false); problems != nil {
			return nil, &Error{Kind: BadSyntax, File: c.name, What: "the file does not parse with its new imports", Problems: problems}
		}
	}
	return text, nil
}

// settling is what is known of a file while its imports are settled.
type settling struct {
	*change
	after              *source
	used, usedBefore   map[string][]string
	changed, unchanged map[string][]string // of used, what declarations use that are new and that were there
	own                map[string]bool     // names that the package declares
}

// names returns the names by which an import may be used, and whether there is no doubt.
func (s *settling) names(i imported) ([]string, bool) {
	if i.name != "" {
		return []string{i.name}, true
	}
	if name := s.tree.nameOf(i.path); name != "" {
		return []string{name}, true
	}
	return plausible(i.path), false
}

// unused returns the imports that were used and are no longer.
func (s *settling) unused(have []imported) []imported {
	var out []imported
	for _, i := range have {
		if !i.bound() {
			continue
		}
		names, sure := s.names(i)
		var by []string // the names by which it was used
		for _, n := range names {
			if _, ok := s.usedBefore[n]; ok {
				by = append(by, n)
			}
		}
		switch {
		case s.before == nil && sure:
			by = names
		case s.before == nil:
			continue
		case len(by) == 0 && !sure:
			// Its name is one that nothing else explains.
			by = s.unexplained(have, i)
		}
		if len(by) > 0 && !slices.ContainsFunc(by, func(n string) bool { _, ok := s.used[n]; return ok }) {
			out = append(out, i)
		}
	}
	return out
}

// unexplained returns the names used before that neither the package nor another import explains.
func (s *settling) unexplained(have []imported, but imported) []string {
	explained := map[string]bool{}
	for _, i := range have {
		if i != but {
			names, _ := s.names(i)
			for _, n := range names {
				explained[n] = true
			}
		}
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(s.usedBefore)) {
		if !explained[n] && !s.own[n] {
			out = append(out, n)
		}
	}
	return out
}

// wanted reports whether an import that an edit names is to be added, and which one it replaces.
func (s *settling) wanted(i imported, have []imported) (old *imported, ok bool, err error) {
	switch {
	case i.path == "C":
		return nil, false, s.bad("C", "an edit can't add import \"C\" and its preamble")
	case !i.bound():
		return nil, true, nil
	}
	names, sure := s.names(i)
	for _, n := range names {
		if _, used := s.changed[n]; !used {
			continue
		}
		ok = true
		for k, x := range have {
			if !x.bound() {
				continue
			}
			theirs, sureOfTheirs := s.names(x)
			if !slices.Contains(theirs, n) {
				continue
			}
			if x.path == i.path && (i.name == x.name || i.name == "" || x.name == "") && (sure || sureOfTheirs) {
				return nil, false, nil // the same under the same name, written in another way
			}
			if !sure || !sureOfTheirs {
				continue
			}
			if _, still := s.unchanged[n]; still {
				e := s.bad(n, "the new text means "+i.path+" by it, and the rest of the file "+x.path+": import one of them under another name")
				e.Others = []string{i.path, x.path}
				return nil, false, e
			}
			old = &have[k]
		}
	}
	if old != nil {
		x := *old
		old = &x
	}
	return old, ok, nil
}

func (s *settling) bad(name, what string) *Error {
	return &Error{Kind: BadImport, File: s.name, Name: name, What: what}
}

// missing finds what new declarations use and nothing of the file imports.
func (s *settling) missing(have []imported) ([]imported, error) {
	explained := map[string]bool{}
	for _, i := range have {
		if i.bound() {
			names, _ := s.names(i)
			for _, n := range names {
				explained[n] = true
			}
		}
	}
	var out []imported
	for _, n := range slices.Sorted(maps.Keys(s.changed)) {
		_, before := s.usedBefore[n]
		if explained[n] || s.own[n] || before && !s.dropped(n, have) || slices.ContainsFunc(s.changed[n], func(sel string) bool { return !token.IsExported(sel) }) {
			continue
		}
		found, err := s.tree.importFor(s.name, n, s.changed[n])
		if err != nil {
			return nil, err
		}
		if found != nil && !slices.Contains(out, *found) {
			out = append(out, *found)
		}
	}
	return out, nil
}

// dropped reports whether the import by which a name was explained before is one of those that
// the file no longer has.
func (s *settling) dropped(name string, have []imported) bool {
	for _, i := range s.after.imports() {
		if names, _ := s.names(i); slices.Contains(names, name) && !slices.Contains(have, i) {
			return true
		}
	}
	return false
}

// plausible returns the names that the package of an import path may have, by the habits with
// which paths are given.
func plausible(path string) []string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && isVersion(last) {
		last = parts[len(parts)-2]
	}
	if head, v, ok := strings.Cut(last, "."); ok && isVersion(v) {
		last = head // gopkg.in/yaml.v3
	}
	out := []string{last}
	add := func(n string) {
		if token.IsIdentifier(n) && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, n := range strings.FieldsFunc(last, func(r rune) bool { return r == '-' || r == '.' }) {
		if n != "go" {
			add(n)
		}
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(last, "go-"), "-go")
	add(strings.NewReplacer("-", "", ".", "").Replace(bare))
	add(strings.NewReplacer("-", "_", ".", "_").Replace(bare))
	return out
}

func isVersion(s string) bool {
	if len(s) < 2 || s[0] != 'v' {
		return false
	}
	_, err := strconv.Atoi(s[1:])
	return err == nil
}

func ambiguousImport(file, name string, paths []string) *Error {
	slices.Sort(paths)
	return &Error{Kind: BadImport, File: file, Name: name, What: fmt.Sprintf("it may be any of %s: import the one that is meant", strings.Join(paths, ", ")), Others: paths}
}
