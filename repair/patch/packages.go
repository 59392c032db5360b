package patch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tracerag/code"
)

// repository is what a tree says of packages, read once something is to be imported.
type repository struct {
	dirs     map[string]string          // import path to slash path in the tree
	names    map[string]string          // import path to the package's name, of those in the tree
	imported map[string]map[string]bool // import path to the names that files write for it; "" without one
}

// look reads which packages the tree has and what its files import. Nothing is run.
func (t *tree) look() *repository {
	if t.repo != nil {
		return t.repo
	}
	r := &repository{dirs: map[string]string{}, names: map[string]string{}, imported: map[string]map[string]bool{}}
	t.repo = r
	list, err := code.Scan(t.dir, code.Options{})
	if err != nil {
		return r
	}
	for _, e := range list.Files {
		if e.Vendored || e.Testdata || e.TooLarge {
			continue
		}
		text, ok := t.now[e.Path]
		if !ok {
			if text, err = t.read(e.Path); err != nil {
				continue
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly|parser.SkipObjectResolution)
		if f == nil || f.Name == nil || err != nil {
			continue
		}
		if e.Module >= 0 && !e.Test && f.Name.Name != "main" && f.Name.Name != "documentation" {
			r.dirs[e.Package], r.names[e.Package] = path.Dir(e.Path), f.Name.Name
		}
		for _, s := range f.Imports {
			i := importedBy(s)
			if r.imported[i.path] == nil {
				r.imported[i.path] = map[string]bool{}
			}
			r.imported[i.path][i.name] = true
		}
	}
	return r
}

// nameOf returns the name of the package of an import path; "" if the tree and the standard
// library do not have it.
func (t *tree) nameOf(p string) string {
	if name := standard().names[p]; name != "" {
		return name
	}
	return t.look().names[p]
}

// packageNames returns the names that the other files of a file's package declare.
func (t *tree) packageNames(file string) map[string]bool {
	out := map[string]bool{}
	self := t.declared(file)
	for _, n := range append(t.beside(file), file) {
		f := t.declared(n)
		if f == nil || self != nil && f.Package != self.Package {
			continue
		}
		for _, d := range f.Decls {
			if len(d.Names) == 0 {
				out[d.Name] = true
			}
			for _, n := range d.Names {
				out[n] = true
			}
		}
	}
	return out
}

// importFor returns the import by which a file gets a name with exported names that it
// selects of it: the one that other files of its directory have, one of the standard library, one
// of the tree or that the tree imports elsewhere. nil is none; several are an error.
func (t *tree) importFor(file, name string, selected []string) (*imported, error) {
	var near []imported
	for _, n := range t.beside(file) {
		f := t.declared(n)
		if f == nil {
			continue
		}
		for _, i := range f.Imports {
			x := imported{i.Name, i.Path}
			if x.bound() && t.called(x, name) && t.exports(x.path, selected) && !slices.Contains(near, x) {
				near = append(near, x)
			}
		}
	}
	repo := t.look()
	far := []imported{}
	for _, p := range standard().paths[name] {
		if t.exports(p, selected) {
			far = append(far, imported{path: p})
		}
	}
	if known := slices.DeleteFunc(slices.Clone(far), func(i imported) bool { return repo.imported[i.path] == nil }); len(far) > 1 && len(known) == 1 {
		far = known // the one that the repository uses
	}
	other := []imported{}
	dir := path.Dir(file)
	for p, n := range repo.names {
		if n == name && repo.dirs[p] != dir && visible(p, t.importPath(dir)) && t.exports(p, selected) {
			other = append(other, imported{path: p})
		}
	}
	for p, names := range repo.imported {
		if repo.names[p] != "" || standard().names[p] != "" && !names[name] {
			continue
		}
		for written := range names {
			if x := (imported{written, p}); x.bound() && t.called(x, name) && t.exports(p, selected) {
				other = append(other, x)
			}
		}
	}
	for _, list := range [][]imported{near, far, other} {
		var paths []string
		for _, i := range list {
			if !slices.Contains(paths, i.path) {
				paths = append(paths, i.path)
			}
		}
		switch len(paths) {
		case 0:
			continue
		case 1:
			slices.SortFunc(list, func(a, b imported) int { return strings.Compare(a.name, b.name) })
			return &list[0], nil
		}
		return nil, ambiguousImport(file, name, paths)
	}
	return nil, nil
}

// called reports whether an import can have a name in its file.
func (t *tree) called(i imported, name string) bool {
	if i.name != "" {
		return i.name == name
	}
	if n := t.nameOf(i.path); n != "" {
		return n == name
	}
	return slices.Contains(plausible(i.path), name)
}

// importPath returns the import path of a directory of the tree; "" if it has none.
func (t *tree) importPath(dir string) string {
	for p, d := range t.look().dirs {
		if d == dir {
			return p
		}
	}
	return ""
}

// visible reports whether a package may import another one, by the rule for "internal".
func visible(p, from string) bool {
	i := strings.LastIndex("/"+p+"/", "/internal/")
	if i < 0 || from == "" {
		return true
	}
	above := strings.TrimSuffix(p[:max(0, i-1)], "/")
	return from == above || strings.HasPrefix(from, above+"/")
}

// exports reports whether a package declares names. Of packages whose source is not at hand it may.
func (t *tree) exports(p string, names []string) bool {
	var texts [][]byte
	if dir, ok := standard().dirs[p]; ok {
		for _, n := range goFiles(dir) {
			if text, err := code.ReadRegular(filepath.Join(dir, n), code.Large); err == nil {
				texts = append(texts, text)
			}
		}
	} else if dir, ok := t.look().dirs[p]; ok {
		for _, n := range goFiles(filepath.Join(t.dir, filepath.FromSlash(dir))) {
			n = path.Join(dir, n)
			text, ok := t.now[n]
			if !ok {
				text, _ = t.read(n)
			}
			texts = append(texts, text)
		}
	} else {
		return true
	}
	found := map[string]bool{}
	if p == "unsafe" {
		found["Sizeof"], found["Alignof"], found["Offsetof"] = true, true, true
	}
	for _, text := range texts {
		f, _ := code.ParseTree(text)
		for _, d := range f.Decls {
			found[d.Name] = true
			for _, n := range d.Names {
				found[n] = true
			}
		}
	}
	return !slices.ContainsFunc(names, func(n string) bool { return !found[n] })
}

// goFiles lists the Go files of a directory that are no tests.
func goFiles(dir string) []string {
	var out []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			out = append(out, e.Name())
		}
	}
	return out
}

// library is the standard library.
type library struct {
	names map[string]string   // import path to name
	paths map[string][]string // name to import paths, sorted
	dirs  map[string]string   // import path to directory
}

// standard reads which packages the standard library has, from the directory of the go command.
// That is asked where no repository can have a say, and with what it may do turned off.
var standard = sync.OnceValue(func() *library {
	l := &library{map[string]string{}, map[string][]string{}, map[string]string{}}
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=off", "GOFLAGS=", "PWD="+cmd.Dir)
	out, err := cmd.Output()
	if err != nil {
		return l
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	_ = filepath.WalkDir(src, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(src, dir)
		if err != nil {
			return nil
		}
		p := filepath.ToSlash(rel)
		switch name := d.Name(); {
		case p == ".":
			return nil
		case p == "cmd", p == "builtin", name == "internal", name == "vendor", name == "testdata", strings.HasPrefix(name, "_"), strings.HasPrefix(name, "."):
			return filepath.SkipDir
		}
		if len(goFiles(dir)) == 0 {
			return nil
		}
		name := path.Base(p)
		if isVersion(name) {
			name = path.Base(path.Dir(p))
		}
		l.names[p], l.dirs[p] = name, dir
		l.paths[name] = append(l.paths[name], p)
		return nil
	})
	return l
})
