package source

import (
	"go/build"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"tracerag/code"
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
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[t.Path]
	if f == nil || filepath.Ext(t.Path) != ".go" {
		return nil
	}
	own := r.packageAt(f.place, f.pkgName)
	var out []Decl
	seen := map[*Decl]bool{}
	for _, n := range mentions(t.Body) {
		pkg := own
		if n.Package != "" {
			pkg = r.importedAs(f, n.Package)
		}
		if d := pkg[n.Name]; d != nil && !seen[d] {
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

// declaredIn is what a file declares for all of its package. Unlike a [file] it has
// the text of nothing else: a package may be large, and of most packages one or two
// declarations are wanted.
type declaredIn struct {
	pkgName string
	decls   []*Decl
}

// declarationsIn reads and indexes a file once; it is empty when that cannot be read.
func (r *Resolver) declarationsIn(pl place) *declaredIn {
	if d := r.declared[pl.path]; d != nil {
		return d
	}
	f, loaded := r.files[pl.path]
	if !loaded {
		f = read(pl)
	}
	return r.declare(pl, f)
}

// declare indexes a file, nil if it cannot be read.
func (r *Resolver) declare(pl place, f *file) *declaredIn {
	out := &declaredIn{}
	r.declared[pl.path] = out
	if f == nil {
		return out
	}
	out.pkgName = strings.Clone(f.pkgName)
	for i := range f.globals {
		g := &f.globals[i]
		d := &Decl{
			Keyword: g.keyword.String(), Package: out.pkgName, Path: f.path, Display: f.display,
			Start: g.line, End: g.endLine, DocStart: g.docLine,
			Doc: strings.Clone(f.text[g.doc:g.docEnd]), Body: strings.Clone(f.text[g.start:g.end]),
		}
		for _, name := range g.names {
			d.Names = append(d.Names, strings.Clone(name))
		}
		out.decls = append(out.decls, d)
	}
	return out
}

// globals are the declarations of a package, by name.
type globals map[string]*Decl

type packageKey struct {
	dir, name string
	test      bool
}

// packageAt returns the declarations of the package that a file belongs to. Those
// of test files are visible to test files only.
func (r *Resolver) packageAt(at place, name string) globals {
	test := strings.HasSuffix(at.path, "_test.go")
	key := packageKey{filepath.Dir(at.path), name, test}
	if g, ok := r.packages[key]; ok {
		return g
	}
	g := globals{}
	r.packages[key] = g
	var own []place
	for _, pl := range r.siblings(at, ".go") {
		if test || !strings.HasSuffix(pl.path, "_test.go") {
			own = append(own, pl)
		}
	}
	builds := r.readAhead(own, at.path)
	for i, pl := range own {
		if !builds[i] {
			continue
		}
		in := r.declarationsIn(pl)
		if in.pkgName != name {
			continue
		}
		for _, d := range in.decls {
			for _, n := range d.Names {
				if g[n] == nil && n != "_" {
					g[n] = d
				}
			}
		}
	}
	return g
}

// readAhead reads and indexes the files of a package, of which one is part of the program,
// on all processors, and reports which of them are.
func (r *Resolver) readAhead(files []place, known string) (builds []bool) {
	builds = make([]bool, len(files))
	parsed, made := make([]*file, len(files)), make([]bool, len(files))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for i := range next {
				pl := files[i]
				_, loaded := r.files[pl.path]
				if builds[i] = pl.path == known || r.builds(pl.path); builds[i] && !loaded && r.declared[pl.path] == nil {
					parsed[i], made[i] = read(pl), true
				}
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, pl := range files {
		if made[i] {
			r.declare(pl, parsed[i])
		}
	}
	return builds
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
		if i.Name != "" && i.Name != name || i.Name == "" && !mayBeNamed(i.Path, name) {
			continue
		}
		at, pkgName := r.anyFileOf(i.Path)
		if pkgName != "" && (i.Name == name || pkgName == name) {
			return r.packageAt(at, pkgName)
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

// anyFileOf returns a file of a package of the program's modules, and the package's
// name; "" if there is none.
func (r *Resolver) anyFileOf(importPath string) (at place, pkgName string) {
	m, ok := r.places.moduleOf(importPath)
	if !ok {
		return place{}, ""
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
				return sib, in.pkgName
			}
		}
	}
	return place{}, ""
}
