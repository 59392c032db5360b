package source

import (
	"go/build"
	"path"
	"path/filepath"
	"strings"
)

// Decl is a declaration of types, constants or variables of a package.
type Decl struct {
	Keyword string   // "type", "const" or "var"
	Package string   // name of the package
	Names   []string // more than one of "var a, b int", and of constants that count (iota)

	// As those of a [Text]. Where the declaration is one of several in
	// parentheses, Body is that one alone, without the keyword.
	Path, Display        string
	Start, End, DocStart int
	Doc, Body            string
}

// Named returns the declarations of the types, constants and package variables
// that t names: those of its own package, and of those packages that its file
// imports, but for the standard library. They stand in the order in which t names
// them first, each once. It goes by syntax alone, so that a field or a local
// variable may now and then be taken for something of the package with the same
// name, and what is named through an embedded field or by inference is not found.
func (r *Resolver) Named(t Text) []Decl {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[t.Path]
	if f == nil || filepath.Ext(t.Path) != ".go" {
		return nil
	}
	var out []Decl
	seen := map[*global]bool{}
	for _, n := range namesIn(t.Body) {
		pkg := r.packageOf(f)
		if n.pkg != "" {
			pkg = r.importedAs(f, n.pkg)
		}
		g, ok := pkg[n.name]
		if !ok || seen[g.global] {
			continue
		}
		seen[g.global] = true
		out = append(out, g.decl())
	}
	return out
}

// declaredGlobal is a global and the file that has it.
type declaredGlobal struct {
	file   *file
	global *global
}

func (g declaredGlobal) decl() Decl {
	f := g.file
	return Decl{
		Keyword: g.global.keyword.String(), Package: f.pkgName, Names: g.global.names,
		Path: f.path, Display: f.display,
		Start: g.global.line, End: g.global.endLine, DocStart: g.global.docLine,
		Doc: f.text[g.global.doc:g.global.docEnd], Body: f.text[g.global.start:g.global.end],
	}
}

// globals are the declarations of a package, by name.
type globals map[string]declaredGlobal

// packageOf returns the globals of a file's package. Those of test files are
// visible to test files only.
func (r *Resolver) packageOf(f *file) globals {
	dir, test := filepath.Dir(f.path), strings.HasSuffix(f.path, "_test.go")
	key := packageKey{dir, f.pkgName, test}
	if g, ok := r.packages[key]; ok {
		return g
	}
	g := globals{}
	r.packages[key] = g
	for _, pl := range r.siblings(f.place, ".go") {
		if !test && strings.HasSuffix(pl.path, "_test.go") {
			continue
		}
		sib := r.load(pl)
		if sib == nil || sib.pkgName != f.pkgName || sib != f && !r.builds(pl.path) {
			continue
		}
		for i := range sib.globals {
			for _, name := range sib.globals[i].names {
				if _, ok := g[name]; !ok && name != "_" {
					g[name] = declaredGlobal{sib, &sib.globals[i]}
				}
			}
		}
	}
	return g
}

type packageKey struct {
	dir, name string
	test      bool
}

// builds reports whether a file is part of the program, as far as its name and
// its constraints tell: tags that were given to the go command are not known.
func (r *Resolver) builds(file string) bool {
	c := build.Default
	c.CgoEnabled = true
	if r.places.GOOS != "" {
		c.GOOS = r.places.GOOS
	}
	if r.places.GOARCH != "" {
		c.GOARCH = r.places.GOARCH
	}
	ok, err := c.MatchFile(filepath.Dir(file), filepath.Base(file))
	return ok && err == nil
}

// importedAs returns the globals of the package that a file imports by a name.
func (r *Resolver) importedAs(f *file, name string) globals {
	for _, i := range f.imports {
		if i.name != "" && i.name != name || i.name == "" && !mayBeNamed(i.path, name) {
			continue
		}
		if other := r.anyFileOf(i.path); other != nil && (i.name == name || other.pkgName == name) {
			return r.packageOf(other)
		}
	}
	return nil
}

// mayBeNamed reports whether the package of an import path may have a name: mostly
// it has that of the last element, less a version and such as "go-" or ".v2".
func mayBeNamed(importPath, name string) bool {
	for p := importPath; p != "." && p != "/"; p = path.Dir(p) {
		if strings.Contains(path.Base(p), name) {
			return true
		}
	}
	return false
}

// anyFileOf returns a file of a package of the program's modules, or nil.
func (r *Resolver) anyFileOf(importPath string) *file {
	m, ok := r.places.moduleOf(importPath)
	if !ok {
		return nil
	}
	own := r.places.inModule(m, importPath+"/x.go")
	for _, pl := range r.places.candidates(own, importPath+"/x.go") {
		if pl.guess {
			continue
		}
		for _, sib := range r.siblings(pl, ".go") {
			if strings.HasSuffix(sib.path, "_test.go") || !r.builds(sib.path) {
				continue
			}
			if f := r.load(sib); f != nil && f.pkgName != "" {
				return f
			}
		}
	}
	return nil
}
