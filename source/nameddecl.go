package source

import (
	"bytes"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"

	"tracerag/code"
	"tracerag/parallel"
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
// imports, but for the standard library. They are in the order in which t names
// them first, each once. It goes by syntax alone, so that a field or a local
// variable may now and then be taken for something of the package with the same
// name, and what is named through an embedded field or by inference is not found.
func (r *Resolver) Named(t Text) []Decl {
	if filepath.Ext(t.Path) != ".go" {
		return nil
	}
	names := mentions(t.Body) // before it has to wait for others
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[t.Path]
	if f == nil {
		return nil
	}
	own := r.packageAt(f.place, f.pkgName)
	var out []Decl
	seen := map[*Decl]bool{}
	for _, n := range names {
		pkg := own
		if n.Package != "" {
			pkg = r.importedAs(f, n.Package)
		}
		if d := pkg.named(n.Name); d != nil && !seen[d] {
			seen[d] = true
			out = append(out, *d)
		}
	}
	return out
}

// mentions are the names in a declaration, or in a part of one.
func mentions(body string) []code.Mention {
	prefix, suffix := frame(body)
	tree, err := parser.ParseFile(token.NewFileSet(), "", prefix+body+suffix, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	return code.MentionsIn(tree)
}

// declarationsIn reads a file once; it declares nothing when that cannot be read.
func (r *Resolver) declarationsIn(pl place) *skimmed {
	s := r.skim(pl)
	r.declared[pl.path] = s
	return s
}

// skim returns what a file declares, without keeping it.
func (r *Resolver) skim(pl place) *skimmed {
	if s := r.declared[pl.path]; s != nil {
		return s
	}
	if f, loaded := r.files[pl.path]; loaded {
		if f == nil {
			return &skimmed{}
		}
		return parsedWhole(f)
	}
	data, mod, err := readRegular(pl.root, pl.path)
	if err != nil {
		return &skimmed{}
	}
	return skim(pl, data, mod)
}

// skimBuilt is skim for a file that is part of the program, and nil for one that is not. What
// its name does not exclude is read once for both.
func (r *Resolver) skimBuilt(pl place) *skimmed {
	if r.declared[pl.path] != nil || r.files[pl.path] != nil {
		if !r.builds(pl.path) {
			return nil
		}
		return r.skim(pl)
	}
	var data []byte
	var mod time.Time
	c := r.buildContext()
	c.OpenFile = func(string) (_ io.ReadCloser, err error) {
		data, mod, err = readRegular(pl.root, pl.path)
		return io.NopCloser(bytes.NewReader(data)), err
	}
	if ok, err := c.MatchFile(filepath.Dir(pl.path), filepath.Base(pl.path)); !ok || err != nil {
		return nil
	}
	return skim(pl, data, mod)
}

// globals are the declarations of a package.
type globals struct {
	files []*skimmed
	found map[string]*Decl // as far as they were asked for; nil: there is none
}

// named returns the declaration of a name: the first one by the names of its files, nil if
// there is none.
func (g *globals) named(name string) *Decl {
	if g == nil {
		return nil
	}
	d, ok := g.found[name]
	for i := 0; !ok && d == nil && i < len(g.files); i++ {
		d = g.files[i].declaration(name)
	}
	g.found[name] = d
	return d
}

type packageKey struct {
	dir, name string
	test      bool
}

// packageAt returns the declarations of the package that a file belongs to. Those
// of test files are visible to test files only.
func (r *Resolver) packageAt(at place, name string) *globals {
	test := strings.HasSuffix(at.path, "_test.go")
	key := packageKey{filepath.Dir(at.path), name, test}
	if g, ok := r.packages[key]; ok {
		return g
	}
	g := &globals{found: map[string]*Decl{}}
	r.packages[key] = g
	var own []place
	for _, pl := range r.siblings(at, ".go") {
		if test || !strings.HasSuffix(pl.path, "_test.go") {
			own = append(own, pl)
		}
	}
	for _, file := range r.readAhead(own, at.path) {
		if file.pkgName == name {
			g.files = append(g.files, file)
		}
	}
	return g
}

// readAhead reads the files of a package, of which one is part of the program, on all
// processors, and returns those that are.
func (r *Resolver) readAhead(files []place, known string) (built []*skimmed) {
	read := make([]*skimmed, len(files))
	parallel.Do(len(files), func(i int) {
		if pl := files[i]; pl.path == known {
			read[i] = r.skim(pl)
		} else {
			read[i] = r.skimBuilt(pl)
		}
	})
	for i, s := range read {
		if s != nil {
			r.declared[files[i].path] = s
			built = append(built, s)
		}
	}
	return built
}

// builds reports whether a file is part of the program, as far as its name and
// its constraints tell: tags that were given to the go command are not known.
func (r *Resolver) builds(file string) bool {
	c := r.buildContext()
	ok, err := c.MatchFile(filepath.Dir(file), filepath.Base(file))
	return ok && err == nil
}

func (r *Resolver) buildContext() build.Context {
	c := build.Default
	c.CgoEnabled = true
	if r.places.GOOS != "" {
		c.GOOS = r.places.GOOS
	}
	if r.places.GOARCH != "" {
		c.GOARCH = r.places.GOARCH
	}
	return c
}

// importedAs returns the globals of the package that a file imports by a name.
func (r *Resolver) importedAs(f *file, name string) *globals {
	for _, i := range f.imports {
		if i.Name != "" && i.Name != name || i.Name == "" && !mayBeNamed(i.Path, name) {
			continue
		}
		if of := r.anyFileOf(i.Path); of.pkgName != "" && (i.Name == name || of.pkgName == name) {
			return r.packageAt(of.place, of.pkgName)
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

// importedFile is a file of a package, and the package's name; "" if there is none.
type importedFile struct {
	place
	pkgName string
}

// anyFileOf returns a file of a package of the program's modules.
func (r *Resolver) anyFileOf(importPath string) importedFile {
	of, ok := r.imported[importPath]
	if !ok {
		of = r.lookForFileOf(importPath)
		r.imported[importPath] = of
	}
	return of
}

func (r *Resolver) lookForFileOf(importPath string) importedFile {
	m, ok := r.places.moduleOf(importPath)
	if !ok {
		return importedFile{}
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
			if in := r.declarationsIn(sib); in.pkgName != "" {
				return importedFile{sib, in.pkgName}
			}
		}
	}
	return importedFile{}
}
