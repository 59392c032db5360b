package calls

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/types/typeutil"

	"tracerag/code"
)

// static finds the calls that name their callee, and notes of which kind the others are. Package
// go/types alone decides that.
func (m *module) static() {
	for _, u := range m.units {
		c := m.checked[u]
		if c.failed {
			continue
		}
		e := &edges{}
		m.edges[u] = e
		for _, f := range c.files {
			s := m.source(f.FileStart)
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if !c.info.Types[n.Fun].IsType() { // a conversion is no call
						m.callee(c.info, s, e, n.Lparen, n)
					}
				case *ast.RangeStmt:
					if t := c.info.TypeOf(n.X); t != nil && isFunction(t) {
						m.callee(c.info, s, e, n.Range, &ast.CallExpr{Fun: n.X})
					}
				}
				return true
			})
		}
	}
}

func isFunction(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		// All types of its type set are functions of one kind, if one is.
		return constraintIsFunction(p)
	}
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

func constraintIsFunction(p *types.TypeParam) bool {
	i, ok := p.Constraint().Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for e := range i.EmbeddedTypes() {
		if u, ok := e.(*types.Union); ok && u.Len() > 0 {
			e = u.Term(0).Type()
		}
		if _, ok := e.Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}

func (m *module) callee(info *types.Info, s *source, e *edges, at token.Pos, call *ast.CallExpr) {
	switch f := typeutil.Callee(info, call).(type) {
	case *types.Builtin:
	case *types.Func:
		if r := f.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
			s.kinds[at] = Interface
			return
		}
		s.kinds[at] = Static
		callee, ok := m.declared(f.Origin())
		if !ok {
			return
		}
		if caller, site, ok := s.site(at); ok {
			e.static = append(e.static, Edge{Kind: Static, Caller: caller, Site: site, Callee: callee})
		}
	default:
		s.kinds[at] = Value
	}
}

// site returns the declaration around a site, and the site's index.
func (s *source) site(at token.Pos) (caller Name, index int, ok bool) {
	i := s.at(at)
	if i < 0 {
		return Name{}, 0, false
	}
	if d := s.decls[i]; d.Kind == code.Func && d.Name == "_" {
		return Name{}, 0, false // nothing can call it
	}
	index, ok = slices.BinarySearch(s.sites[i], at)
	return s.name(i), index, ok
}

func (s *source) name(i int) Name {
	return Name{Package: s.unit.path, File: s.path, Symbol: s.decls[i].Symbol()}
}

// around returns the declaration around a position, if that is in a file of a unit.
func (m *module) around(p token.Pos) (Name, bool) {
	s := m.source(p)
	if s == nil {
		return Name{}, false
	}
	i := s.at(p)
	if i < 0 {
		return Name{}, false
	}
	return s.name(i), true
}

// declared names a function's declaration, if it is the repository's own. Those of other modules of
// the repository are known by export data, which has the file and the name, but no more.
func (m *module) declared(f *types.Func) (Name, bool) {
	if f.Pkg() == nil {
		return Name{}, false
	}
	if n, ok := m.around(f.Pos()); ok {
		return n, true
	}
	dir, ok := m.own[f.Pkg().Path()]
	if !ok {
		return Name{}, false
	}
	file := filepath.Base(m.fset.PositionFor(f.Pos(), false).Filename)
	return Name{Package: f.Pkg().Path(), File: m.below(filepath.Join(dir, file)), Symbol: symbol(f)}, true
}

// symbol returns what code.Decl.Symbol is of a function that is neither blank nor init.
func symbol(f *types.Func) string {
	r := f.Signature().Recv()
	if r == nil {
		return f.Name()
	}
	t, star := r.Type(), false
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t, star = p.Elem(), true
	}
	name := "?"
	switch t := t.(type) {
	case *types.Alias:
		name = t.Obj().Name()
	case *types.Named:
		name = t.Obj().Name()
	}
	if star {
		return "(*" + name + ")." + f.Name()
	}
	return name + "." + f.Name()
}
