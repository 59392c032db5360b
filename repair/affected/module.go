package affected

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tracerag/code"
)

// source is what is known of a directory's packages without running anything.
type source struct {
	root     string
	packages map[string]*pkg // by import path
	byDir    map[string]*pkg
	digests  map[string]string // of packages, without those that they import
	nature   string            // go.mod, go.sum, platform, flags
	tags     []string
	named    map[string][]mention // declarations by what they name; nil: not read yet
	bare     map[declared]bool    // functions without statements
}

// pkg is the packages of a directory: itself and its tests.
type pkg struct {
	path         string
	dir          string // slash path below the root
	module       string // the directory of its module
	modulePath   string
	files        []string
	imports      []string // own packages
	testImports  []string
	tests        []string
	hasTestFiles bool
}

// mention is a declaration that names something.
type mention struct {
	pkg      *pkg
	external bool // of the external test package
	file     *code.File
	decl     *code.Decl
}

func (m mention) declared() declared {
	d := declared{m.pkg.path, m.decl.Name}
	if m.external {
		d.Package += "_test"
	}
	return d
}

// scan lists the packages of the main modules of a directory. Which files are built is decided for this machine.
func scan(dir string, tags []string) (*source, error) {
	list, err := code.Scan(dir, code.Options{Ignored: true})
	if err != nil {
		return nil, err
	}
	s := &source{root: list.Root, packages: map[string]*pkg{}, byDir: map[string]*pkg{}, digests: map[string]string{}, tags: tags}
	context := build.Default
	context.BuildTags = tags
	for _, e := range list.Files {
		if e.Vendored || e.Testdata || e.TooLarge || e.Module < 0 || list.Modules[e.Module].Testdata {
			continue
		}
		dir := path.Dir(e.Path)
		if ok, err := context.MatchFile(filepath.Join(list.Root, filepath.FromSlash(dir)), path.Base(e.Path)); err != nil || !ok {
			continue // what can't be read is not built either
		}
		p := s.byDir[dir]
		if p == nil {
			p = &pkg{path: e.Package, dir: dir, module: filepath.Join(list.Root, filepath.FromSlash(list.Modules[e.Module].Dir)), modulePath: list.Modules[e.Module].Path}
			s.byDir[dir], s.packages[e.Package] = p, p
		}
		p.files = append(p.files, e.Path)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %s %s %q %q %q\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, tags, os.Getenv("GOFLAGS"), os.Getenv("GOEXPERIMENT"))
	for _, m := range list.Modules {
		for _, name := range []string{"go.mod", "go.sum"} {
			text, _ := os.ReadFile(filepath.Join(list.Root, m.Dir, name))
			fmt.Fprintf(h, "%s %s %x\n", m.Dir, name, sha256.Sum256(text))
		}
	}
	s.nature = fmt.Sprintf("%x", h.Sum(nil))
	for _, p := range s.byDir {
		s.read(p)
	}
	for _, p := range s.byDir { // what is imported and not ours does not matter
		foreign := func(i string) bool { return s.packages[i] == nil }
		p.imports = slices.DeleteFunc(p.imports, foreign)
		p.testImports = slices.DeleteFunc(p.testImports, foreign)
	}
	return s, nil
}

// read finds what a package imports, its tests, and its digest.
func (s *source) read(p *pkg) {
	h := sha256.New()
	var tests []*ast.File
	fset := token.NewFileSet()
	for _, name := range p.files {
		text, err := code.Read(s.root, name)
		if err != nil {
			continue // the go command will say so
		}
		f := code.Parse(text)
		fmt.Fprintf(h, "%s %q %q\n", name, f.Package, f.Constraint)
		for _, i := range f.Imports {
			fmt.Fprintf(h, "import %q %q\n", i.Name, i.Path)
			if strings.HasSuffix(name, "_test.go") {
				p.testImports = append(p.testImports, i.Path)
			} else {
				p.imports = append(p.imports, i.Path)
			}
		}
		for i := range f.Decls {
			fmt.Fprintf(h, "%s %x\n", f.Decls[i].Symbol(), f.Decls[i].Tokens)
		}
		if len(f.Errors) > 0 {
			fmt.Fprintf(h, "%x\n", sha256.Sum256(text))
		}
		if strings.HasSuffix(name, "_test.go") {
			p.hasTestFiles = true
			if tree, _ := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution); tree != nil {
				tests = append(tests, tree)
			}
		}
	}
	p.tests = testsIn(tests)
	s.digests[p.path] = fmt.Sprintf("%x", h.Sum(nil))
}

// testsIn lists the functions that package testing runs.
func testsIn(files []*ast.File) (names []string) {
	for _, f := range files {
		for _, d := range f.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Type.Params.NumFields() == 1 && (isTest(f.Name.Name, "Test") || isTest(f.Name.Name, "Fuzz")) && f.Name.Name != "TestMain" {
				names = append(names, f.Name.Name)
			}
		}
	}
	for _, e := range doc.Examples(files...) {
		if e.Output != "" || e.EmptyOutput {
			names = append(names, "Example"+e.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isTest is the rule of package testing: TestX, Test_x and Test, and not Testify.
func isTest(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// closure returns the own packages that a package's test program is made of, in order.
func (s *source) closure(p *pkg) []string {
	seen := map[string]bool{p.path: true}
	todo := slices.Concat(p.imports, p.testImports)
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if q := s.packages[next]; q != nil && !seen[next] {
			seen[next] = true
			todo = append(todo, q.imports...)
		}
	}
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// request says how a package is recorded. A pattern that matches nothing of a test program is an error, so there is
// none of other modules.
func (s *source) request(p *pkg) Package {
	r := Package{Path: p.path, Dir: p.module, Include: p.modulePath + "/..."}
	for _, name := range s.closure(p) {
		if s.packages[name].modulePath != p.modulePath {
			r.Include = ""
		}
	}
	return r
}

// dependents lists the packages with tests whose test programs contain a package, the nearest
// first: the package itself, then those that import it, and so on.
func (s *source) dependents(of []string) []*pkg {
	distance := map[string]int{}
	todo := slices.Clone(of)
	for _, name := range of {
		distance[name] = 0
	}
	importers, testers := map[string][]string{}, map[string][]string{}
	for _, p := range s.packages {
		for _, i := range p.imports {
			importers[i] = append(importers[i], p.path)
		}
		for _, i := range p.testImports {
			testers[i] = append(testers[i], p.path)
		}
	}
	tested := map[string]int{}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		if d, ok := tested[next]; !ok || distance[next] < d {
			tested[next] = distance[next]
		}
		for _, p := range testers[next] {
			if _, ok := tested[p]; !ok {
				tested[p] = distance[next] + 1
			}
		}
		for _, p := range importers[next] {
			if _, ok := distance[p]; !ok {
				distance[p] = distance[next] + 1
				todo = append(todo, p)
			}
		}
	}
	var out []*pkg
	for name := range tested {
		if p := s.packages[name]; p != nil && p.hasTestFiles {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pkg) int {
		if d := tested[a.path] - tested[b.path]; d != 0 {
			return d
		}
		return strings.Compare(a.path, b.path)
	})
	return out
}

// key names what a package's test program is made of and reads: own packages, by their tokens, and the
// other files in their directories and in its testdata.
func (s *source) key(p *pkg) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", s.nature, p.path)
	for _, name := range s.closure(p) {
		q := s.packages[name]
		fmt.Fprintf(h, "%s %s\n", name, s.digests[name])
		s.others(q, func(name, what string) { fmt.Fprintf(h, "%s %s\n", name, what) })
	}
	_ = fs.WalkDir(os.DirFS(filepath.Join(s.root, filepath.FromSlash(p.dir))), "testdata", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			fmt.Fprintf(h, "%s %s\n", name, s.digest(path.Join(p.dir, name)))
		}
		return nil
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// others visits the files of a package's directory that are not Go's.
func (s *source) others(p *pkg, visit func(name, what string)) {
	entries, _ := os.ReadDir(filepath.Join(s.root, filepath.FromSlash(p.dir)))
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), ".go") {
			visit(e.Name(), s.digest(path.Join(p.dir, e.Name())))
		}
	}
}

// digest is of a file's bytes, or, of a large one, of its size.
func (s *source) digest(name string) string {
	name = filepath.Join(s.root, filepath.FromSlash(name))
	info, err := os.Stat(name)
	if err != nil || info.Size() > 1<<20 {
		if err == nil {
			return fmt.Sprint(info.Size())
		}
		return "unreadable"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
