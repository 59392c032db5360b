package affected

import (
	"go/ast"
	"slices"
	"strings"

	"tracerag/code"
)

// learn reads which declarations name what. It goes by identifiers alone: x.Close names Close
// whatever x is.
func (s *source) learn() {
	if s.named != nil {
		return
	}
	s.named, s.bare = map[string][]mention{}, map[declared]bool{}
	var all []*pkg
	for _, p := range s.byDir {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
	for _, p := range all {
		for _, name := range p.files {
			text, err := code.Read(s.root, name)
			if err != nil {
				continue
			}
			f, tree := code.ParseTree(text)
			external := strings.HasSuffix(name, "_test.go") && strings.HasSuffix(f.Package, "_test")
			for i := range f.Decls {
				m := mention{p, external, f, &f.Decls[i]}
				seen := map[string]bool{}
				node := tree.Node(i)
				if fn, ok := node.(*ast.FuncDecl); ok && (fn.Body == nil || len(fn.Body.List) == 0) {
					s.bare[m.declared()] = true
				}
				ast.Inspect(node, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
						seen[id.Name] = true
						s.named[id.Name] = append(s.named[id.Name], m)
					}
					return true
				})
			}
		}
	}
}

// namers returns the functions that may use a declaration: those that name it, or name a type, a
// constant or a variable that does, and so on. invisible says of functions that they leave no trace.
func (s *source) namers(pkgPath, symbol string, names []string, invisible func(declared) bool) []declared {
	s.learn()
	type thing struct{ pkg, name string }
	var out []declared
	done := map[thing]bool{}
	var todo []thing
	add := func(pkg, name string) {
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name = name[i+1:]
		}
		if k := (thing{pkg, name}); name != "_" && name != "" && !done[k] {
			done[k] = true
			todo = append(todo, k)
		}
	}
	for _, n := range append(slices.Clone(names), symbol) {
		add(pkgPath, n)
	}
	if t, _, ok := strings.Cut(strings.Trim(strings.TrimPrefix(symbol, "("), "*"), "."); ok {
		// A method may come to be called by an interface that names it nowhere here.
		add(pkgPath, strings.Trim(t, "()*"))
	}
	own := map[string][]string{}
	sees := func(m mention, pkg string) bool {
		pkg = strings.TrimSuffix(pkg, "_test")
		list, ok := own[m.pkg.path]
		if !ok {
			list = s.closure(m.pkg)
			own[m.pkg.path] = list
		}
		_, found := slices.BinarySearch(list, pkg)
		return found
	}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		for _, m := range s.named[next.name] {
			d := m.declared()
			if !sees(m, next.pkg) || d.Name == next.name && d.Package == next.pkg && !m.decl.Kind.Callable() {
				continue
			}
			if m.decl.Kind.Callable() {
				out = append(out, d)
				if d.Package == next.pkg && strings.HasSuffix(d.Name, next.name) || !invisible(d) {
					continue
				}
				add(d.Package, d.Name)
				continue
			}
			add(d.Package, m.decl.Name)
			for _, n := range m.decl.Names {
				add(d.Package, n)
			}
		}
	}
	slices.SortFunc(out, func(a, b declared) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// callers returns the functions that name a function or method, in order.
func (s *source) callers(d declared) (out []declared) {
	s.learn()
	for _, m := range s.named[d.Name[strings.LastIndexByte(d.Name, '.')+1:]] {
		if by := m.declared(); m.decl.Kind.Callable() && by != d {
			out = append(out, by)
		}
	}
	return out
}
