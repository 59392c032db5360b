package calls

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/gcexportdata"

	"tracerag/code"
)

// module is a module as it is type-checked.
type module struct {
	*listing
	fset    *token.FileSet
	checked map[*unit]*checked

	exporting sync.Mutex
	view      map[string]*types.Package // packages of export data
	imported  map[string]error          // of those that were read: nil, or why they could not be

	mutex   sync.Mutex
	sources map[*token.File]*source
	gaps    map[string][]Gap // beside those of the listing

	edges map[*unit]*edges
}

// checked is a unit that was type-checked.
type checked struct {
	done   chan struct{}
	failed bool
	pkg    *types.Package
	info   *types.Info
	files  []*ast.File
}

// edges are those of a unit.
type edges struct {
	static, dynamic []Edge
}

// source is a file of a unit.
type source struct {
	unit  *unit
	path  string // below the root
	start token.Pos
	decls []code.Decl
	sites [][]token.Pos // of each declaration
	kinds map[token.Pos]Kind
}

func newModule(l *listing) *module {
	return &module{
		listing: l, fset: token.NewFileSet(), checked: map[*unit]*checked{},
		view: map[string]*types.Package{}, imported: map[string]error{}, sources: map[*token.File]*source{},
		gaps: map[string][]Gap{}, edges: map[*unit]*edges{},
	}
}

func (m *module) gap(g Gap) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !slices.Contains(m.gaps[g.Package], g) {
		m.gaps[g.Package] = append(m.gaps[g.Package], g)
	}
}

// check type-checks the units, each after those that it imports, a few at a time.
func (m *module) check(ctx context.Context) error {
	for _, u := range m.units {
		m.checked[u] = &checked{done: make(chan struct{})}
	}
	circular := m.cycles()
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for _, u := range m.listing.units {
		all.Go(func() {
			c := m.checked[u]
			defer close(c.done)
			if circular[u] || m.refused[u] || u.broken {
				c.failed = true // the go command, or refuse, said why
				return
			}
			for written, t := range u.units {
				<-m.checked[t].done
				if m.checked[t].failed && !c.failed {
					c.failed = true
					m.gap(Gap{Kind: Depends, Package: u.of, File: u.external(m), Reason: "imports " + written + ", which has gaps"})
				}
			}
			turn <- struct{}{}
			defer func() { <-turn }()
			if !c.failed && ctx.Err() == nil {
				m.checkUnit(u, c)
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// external returns the first file of "package x_test", whose gaps would pass for those of
// package x otherwise.
func (u *unit) external(m *module) string {
	if u.path == u.of {
		return ""
	}
	return m.below(u.files[0])
}

// cycles returns the units that import themselves, by any number of steps, or one that does.
func (m *module) cycles() map[*unit]bool {
	const (
		open = iota + 1
		fine
		bad
	)
	state := map[*unit]int{}
	var visit func(u *unit) bool
	visit = func(u *unit) bool {
		switch state[u] {
		case open, bad:
			return false
		case fine:
			return true
		}
		state[u] = open
		ok := true
		for _, written := range sorted(u.units) {
			ok = visit(u.units[written]) && ok
		}
		state[u] = fine
		if !ok {
			state[u] = bad
		}
		return ok
	}
	in := map[*unit]bool{}
	for _, u := range m.units {
		if !visit(u) {
			in[u] = true
			m.gap(Gap{Kind: Wrong, Package: u.of, File: u.external(m), Reason: "it is on an import cycle, or imports a package that is"})
		}
	}
	return in
}

// checkUnit type-checks a unit. Errors in functions cost these functions, others the
// unit; of test files, the test files.
func (m *module) checkUnit(u *unit, c *checked) {
	files := make([]*ast.File, 0, len(u.files))
	for _, name := range u.files {
		f, err := m.parse(u, name)
		if err != nil {
			if slices.Contains(u.tests, name) && len(u.tests) < len(u.files) {
				m.withoutTests(u, c, err)
				return
			}
			c.failed = true
			m.gap(Gap{Kind: Wrong, Package: u.of, File: m.below(name), Reason: m.lessRoot(err)})
			return
		}
		files = append(files, f)
	}
	for range 4 {
		var inside []bad
		var outside error
		c.pkg, c.info, inside, outside = m.types(u, files)
		switch {
		case outside != nil && len(u.tests) > 0 && len(u.tests) < len(u.files):
			m.withoutTests(u, c, outside)
			return
		case outside != nil:
			c.failed = true
			kind := Wrong
			if errors.Is(outside, errMissing) {
				kind = Missing
			}
			m.gap(Gap{Kind: kind, Package: u.of, File: u.external(m), Reason: m.lessRoot(outside)})
			return
		case len(inside) == 0:
			c.files = files
			return
		}
		for _, b := range inside {
			d, s := b.decl, m.source(b.decl.Pos())
			m.gap(Gap{Kind: Wrong, Package: u.of, File: s.path, Symbol: s.decls[s.at(d.Pos())].Symbol(), Reason: m.lessRoot(b.why)})
			// Nothing else depends on what is in a function. An endless loop is a body for
			// any signature.
			d.Body = &ast.BlockStmt{Lbrace: d.Body.Lbrace, List: []ast.Stmt{&ast.ForStmt{For: d.Body.Lbrace, Body: &ast.BlockStmt{Lbrace: d.Body.Lbrace, Rbrace: d.Body.Rbrace}}}, Rbrace: d.Body.Rbrace}
		}
	}
	c.failed = true
	m.gap(Gap{Kind: Failed, Package: u.of, File: u.external(m), Reason: "type-checking does not settle"})
}

// withoutTests checks a package without its test files, in which an error is.
func (m *module) withoutTests(u *unit, c *checked, why error) {
	kind := Wrong
	if errors.Is(why, errMissing) {
		kind = Missing
	}
	for _, t := range u.tests {
		m.gap(Gap{Kind: kind, Package: u.of, File: m.below(t), Reason: m.lessRoot(why)})
	}
	v := *u
	v.tests = nil
	v.files = slices.DeleteFunc(slices.Clone(u.files), func(f string) bool { return slices.Contains(u.tests, f) })
	m.checkUnit(&v, c)
}

func (m *module) lessRoot(err error) string { return m.shorter("", err.Error()) }

// parse reads a file, and notes its declarations and sites.
func (m *module) parse(u *unit, name string) (*ast.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseFile(m.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	tf := m.fset.File(tree.FileStart)
	s := &source{unit: u, path: m.below(name), start: tree.FileStart, decls: code.Parse(text).Decls, kinds: map[token.Pos]Kind{}}
	s.sites = make([][]token.Pos, len(s.decls))
	for _, d := range tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
			continue
		}
		if i := s.at(d.Pos()); i >= 0 {
			s.sites[i] = code.SitesOf(d)
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.sources[tf] = s
	return tree, nil
}

// at returns the index of the declaration around a position of the file; -1 outside of all.
func (s *source) at(p token.Pos) int {
	offset := int(p - s.start)
	i, found := slices.BinarySearchFunc(s.decls, offset, func(d code.Decl, offset int) int { return d.Start - offset })
	if !found {
		i--
	}
	if i < 0 || offset >= s.decls[i].End {
		return -1
	}
	return i
}

// bad is a function with an error.
type bad struct {
	decl *ast.FuncDecl
	why  error
}

// types type-checks files. It returns the functions in which errors are, and the first error that is in none.
func (m *module) types(u *unit, files []*ast.File) (pkg *types.Package, info *types.Info, inside []bad, outside error) {
	info = &types.Info{
		Types:        map[ast.Expr]types.TypeAndValue{},
		Defs:         map[*ast.Ident]types.Object{},
		Uses:         map[*ast.Ident]types.Object{},
		Implicits:    map[ast.Node]types.Object{},
		Instances:    map[*ast.Ident]types.Instance{},
		Selections:   map[*ast.SelectorExpr]*types.Selection{},
		FileVersions: map[*ast.File]string{},
	}
	config := types.Config{
		Importer:  importer(func(path string) (*types.Package, error) { return m.load(u, path) }),
		GoVersion: u.goMod,
		Sizes:     types.SizesFor("gc", m.goarch()),
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) && e.Soft {
				return // an import or a variable that is not used
			}
			if d := function(files, e.Pos); d == nil {
				if outside == nil {
					outside = m.explain(u, err)
				}
			} else if !slices.ContainsFunc(inside, func(b bad) bool { return b.decl == d }) {
				inside = append(inside, bad{d, err})
			}
		},
	}
	pkg, _ = config.Check(u.path, m.fset, files, info)
	return pkg, info, inside, outside
}

// errMissing is for imports that are not on this machine.
var errMissing = errors.New("missing")

type missingError struct{ error }

func (missingError) Is(target error) bool { return target == errMissing }

// explain adds what the go command said of an import that failed.
func (m *module) explain(u *unit, err error) error {
	for _, path := range sorted(u.imports) {
		why, lost := m.lost[u.imports[path]]
		if !lost || !strings.Contains(err.Error(), "could not import "+path+" ") {
			continue
		}
		err = fmt.Errorf("import %q: %s", path, why)
		if gapKind(why) == Missing {
			return missingError{err}
		}
		return err
	}
	return err
}

// function returns the function of files in whose body a position is.
func function(files []*ast.File, p token.Pos) *ast.FuncDecl {
	for _, f := range files {
		if p < f.FileStart || p > f.FileEnd {
			continue
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && d.Body.Pos() <= p && p < d.Body.End() {
				return d
			}
		}
	}
	return nil
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }

// load returns what a unit imports: another unit, or a package by its export data.
func (m *module) load(u *unit, path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if t := u.units[path]; t != nil {
		return m.checked[t].pkg, nil
	}
	if p, ok := u.imports[path]; ok {
		path = p
	}
	file, ok := m.exports[path]
	if !ok {
		return nil, errNoFile
	}
	m.exporting.Lock()
	defer m.exporting.Unlock()
	if err, ok := m.imported[path]; ok {
		return m.view[path], err
	}
	pkg, err := m.read(path, file)
	if err == nil {
		m.view[path] = pkg
	}
	m.imported[path] = err
	return pkg, err
}

func (m *module) read(path, file string) (*types.Package, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	//lint:ignore SA1019 the go command of today hands out archives; those of later ones have no need of it
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("export data of %s: %w", path, err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("export data of %s: %w", path, err)
	}
	return gcexportdata.Read(strings.NewReader(string(text)), m.fset, m.view, path)
}

func (m *module) goarch() string {
	_, arch, _ := strings.Cut(m.about, "/")
	return arch
}

// source returns the file of a unit in which a position is; nil of others.
func (m *module) source(p token.Pos) *source {
	tf := m.fset.File(p)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.sources[tf]
}
