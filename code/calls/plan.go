package calls

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"tracerag/code"
)

// plan makes units of the packages that the go command lists.
//
// For the go command a package with its test files is another one than without, and what imports it
// may be compiled twice, too. To check everything twice would take twice as long, and give
// every type twice. A test file may do nothing to the rest of its package but add to it.
// So one unit has both, and all others import that, unless its test files import something
// that imports the package: then the package is checked once without its test files, and once
// more with them, together with all that is between.
func (l *listing) plan(roots []*packages.Package) {
	plain, tested := map[string]*packages.Package{}, map[string]*packages.Package{}
	var external, between, all []*packages.Package
	listed := map[*packages.Package]bool{}
	for _, p := range roots {
		listed[p] = true
		if p.Module != nil && p.Module.Main && l.module == "" {
			l.module = p.Module.Path
		}
	}
	packages.Visit(roots, nil, func(p *packages.Package) {
		if p.ForTest == "" {
			l.owns(p)
		}
		// The pattern ./... leaves out packages in testdata that others import.
		if listed[p] || p.Module != nil && p.Module.Main && p.Module.Path == l.module {
			all = append(all, p)
		}
	})
	slices.SortFunc(all, func(a, b *packages.Package) int { return strings.Compare(a.ID, b.ID) })
	for _, p := range all {
		switch {
		case isTestMain(p):
		case p.ForTest == "":
			plain[p.PkgPath] = p
			l.ignored(p, p.PkgPath)
			l.said(p, p.PkgPath)
		case p.PkgPath == p.ForTest:
			l.ignored(p, p.PkgPath)
			l.said(p, p.PkgPath)
			if len(fatal(p)) == 0 {
				tested[p.PkgPath] = p
			}
		case p.PkgPath == p.ForTest+"_test":
			external = append(external, p)
			l.said(p, p.ForTest)
		default: // one that imports the package, and that its test imports
			between = append(between, p)
		}
	}
	circular := circles(plain, tested)
	byID := map[string]*unit{}
	common := map[string]*unit{}
	from := map[*unit]*packages.Package{}
	add := func(p *packages.Package, of string) *unit {
		u := newUnit(p, of)
		u.broken = len(fatal(p)) > 0
		if len(u.files) > 0 {
			l.units = append(l.units, u)
			byID[p.ID], from[u] = u, p
		}
		return u
	}
	for _, path := range sorted(plain) {
		p := plain[path]
		if t := tested[path]; t != nil && !circular[path] {
			p = t
		}
		u := add(p, path)
		common[path] = u
	}
	for _, path := range sorted(tested) {
		if circular[path] {
			add(tested[path], path)
		} else if common[path] == nil { // a package of test files only
			common[path] = add(tested[path], path)
		}
	}
	for _, p := range between {
		if circular[p.ForTest] {
			add(p, p.PkgPath)
		}
	}
	for _, p := range external {
		add(p, p.ForTest)
	}
	for _, u := range l.units {
		for written, p := range from[u].Imports {
			switch t := byID[p.ID]; {
			case p.ForTest != "" && circular[p.ForTest] && t != nil:
				u.units[written] = t
			case common[p.PkgPath] != nil && len(common[p.PkgPath].files) > 0:
				u.units[written] = common[p.PkgPath]
			default:
				u.imports[written] = p.PkgPath
			}
		}
	}
}

func newUnit(p *packages.Package, of string) *unit {
	u := &unit{path: p.PkgPath, of: of, imports: map[string]string{}, units: map[string]*unit{}}
	for _, f := range p.GoFiles {
		if !strings.HasSuffix(f, ".go") {
			continue
		}
		u.files = append(u.files, f)
		u.dir = filepath.Dir(f)
		if strings.HasSuffix(f, "_test.go") && p.PkgPath == of {
			u.tests = append(u.tests, f)
		}
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		u.goMod = "go" + p.Module.GoVersion
	}
	return u
}

// fatal returns the errors of a package without which it can't be type-checked as the go command
// would build it. A file that is not there to be embedded is not one.
func fatal(p *packages.Package) []packages.Error {
	return slices.DeleteFunc(slices.Clone(p.Errors), func(e packages.Error) bool {
		return strings.HasPrefix(e.Msg, "pattern ") || strings.Contains(e.Msg, ": pattern ")
	})
}

// owns notes where a package of the repository is.
func (l *listing) owns(p *packages.Package) {
	if len(p.GoFiles) > 0 && l.below(p.GoFiles[0]) != "" {
		l.own[p.PkgPath] = filepath.Dir(p.GoFiles[0])
	}
}

func isTestMain(p *packages.Package) bool {
	return p.Name == "main" && strings.HasSuffix(p.ID, ".test")
}

// circles returns the packages whose test files import, by any number of steps,
// the package itself; all that are on such a circle.
func circles(plain, tested map[string]*packages.Package) map[string]bool {
	next := func(path string) []string {
		p := tested[path]
		if p == nil {
			p = plain[path]
		}
		if p == nil {
			return nil
		}
		var paths []string
		for _, i := range p.Imports {
			if plain[i.PkgPath] != nil {
				paths = append(paths, i.PkgPath)
			}
		}
		return paths
	}
	// Tarjan's strongly connected components.
	in := map[string]bool{}
	number, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(string)
	visit = func(v string) {
		number[v] = len(number) + 1
		low[v] = number[v]
		stack, on[v] = append(stack, v), true
		for _, w := range next(v) {
			if number[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], number[w])
			}
		}
		if low[v] != number[v] {
			return
		}
		i := slices.Index(stack, v)
		for _, w := range stack[i:] {
			on[w] = false
			in[w] = len(stack)-i > 1
		}
		stack = stack[:i]
	}
	for _, path := range sorted(plain) {
		if number[path] == 0 {
			visit(path)
		}
	}
	return in
}

func sorted[T any](m map[string]T) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// uses reports whether a workspace has the module of a directory.
func uses(work, dir string) bool {
	text, err := code.ReadRegular(work, code.Large)
	if err != nil {
		return true // the go command says what is wrong
	}
	f, err := modfile.ParseWork(work, text, nil)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(f.Use, func(u *modfile.Use) bool {
		path := filepath.FromSlash(u.Path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(work), path)
		}
		return filepath.Clean(path) == dir
	})
}

// usesCgo reports whether a file imports "C".
func usesCgo(file string) bool {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if tree == nil || err != nil {
		return false
	}
	for _, i := range tree.Imports {
		if i.Path.Value == `"C"` {
			return true
		}
	}
	return false
}
