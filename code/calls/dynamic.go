package calls

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// buildError says that go/ssa panicked for a unit.
type buildError struct {
	unit *unit
	why  any
}

func (e *buildError) Error() string { return fmt.Sprintf("go/ssa can't translate it: %v", e.why) }

// dynamic finds the candidates of the calls that do not name their callee.
func (m *module) dynamic() error {
	prog, err := m.build()
	if err != nil {
		return err
	}
	functions := ssautil.AllFunctions(prog)
	for f := range functions {
		// Type parameters have no methods to call: those of instances do. Of functions without a
		// body those may be candidates that another module of the repository has.
		if f.Blocks == nil && !m.ownFunction(f) || f.TypeParams().Len() > len(f.TypeArgs()) {
			delete(functions, f)
		}
	}
	graph := vta.CallGraph(functions, nil)
	r := &resolver{module: m, prog: prog, graph: graph, known: map[*ssa.Function][]Name{}, implementing: map[*types.Func][]*ssa.Function{}}
	for f := range functions {
		reached := map[ssa.CallInstruction]bool{}
		for _, edge := range graph.CreateNode(f).Out {
			reached[edge.Site] = true
			r.edge(edge.Site, edge.Callee.Func)
		}
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				if c, ok := i.(ssa.CallInstruction); ok && c.Common().IsInvoke() && !reached[c] {
					r.unreached(c)
				}
			}
		}
	}
	return nil
}

func (m *module) ownFunction(f *ssa.Function) bool {
	obj := f.Object()
	if obj == nil || obj.Pkg() == nil {
		return false
	}
	_, ok := m.own[obj.Pkg().Path()]
	return ok
}

// build translates the units.
func (m *module) build() (*ssa.Program, error) {
	prog := ssa.NewProgram(m.fset, ssa.InstantiateGenerics)
	created := map[*types.Package]bool{}
	type pair struct {
		unit *unit
		pkg  *ssa.Package
	}
	var pairs []pair
	for _, u := range m.units {
		if c := m.checked[u]; !c.failed {
			created[c.pkg] = true
			pairs = append(pairs, pair{u, prog.CreatePackage(c.pkg, c.files, c.info, false)})
		}
	}
	var imports func(p *types.Package)
	imports = func(p *types.Package) {
		if !created[p] {
			created[p] = true
			prog.CreatePackage(p, nil, nil, true)
		}
		for _, i := range p.Imports() {
			if !created[i] {
				imports(i)
			}
		}
	}
	for _, p := range pairs {
		imports(p.pkg.Pkg)
	}
	for _, u := range m.units {
		if c := m.checked[u]; !c.failed {
			for _, i := range c.pkg.Imports() {
				imports(i)
			}
		}
	}
	for _, p := range pairs {
		if err := build(p.unit, p.pkg); err != nil {
			return nil, err
		}
		m.checked[p.unit].info, m.checked[p.unit].files = nil, nil
	}
	return prog, nil
}

func build(u *unit, p *ssa.Package) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &buildError{unit: u, why: r}
		}
	}()
	p.Build()
	return nil
}

// resolver turns edges between functions of go/ssa into edges between declarations.
type resolver struct {
	*module
	prog         *ssa.Program
	graph        *callgraph.Graph
	known        map[*ssa.Function][]Name
	implementing map[*types.Func][]*ssa.Function
	runtime      []types.Type
}

// unreached finds candidates of a call of an interface's method that no value reaches. If the
// repository declares the interface, then its values come out of an any, out of
// reflection or out of another module's code: all types that are made into interfaces
// anywhere are candidates. For others, such as error, they are the other module's own.
func (r *resolver) unreached(c ssa.CallInstruction) {
	method := c.Common().Method
	if _, ok := r.around(method.Pos()); !ok {
		return
	}
	for _, f := range r.implementations(method, c.Common().Value.Type()) {
		r.edge(c, f)
	}
}

func (r *resolver) implementations(method *types.Func, t types.Type) []*ssa.Function {
	if fs, ok := r.implementing[method]; ok {
		return fs
	}
	if r.runtime == nil {
		r.runtime = r.prog.RuntimeTypes()
	}
	var fs []*ssa.Function
	i, ok := t.Underlying().(*types.Interface)
	for _, t := range r.runtime {
		if !ok || types.IsInterface(t) || !types.Implements(t, i) {
			continue
		}
		if s := r.prog.MethodSets.MethodSet(t).Lookup(method.Pkg(), method.Name()); s != nil {
			if f := r.prog.MethodValue(s); f != nil {
				fs = append(fs, f)
			}
		}
	}
	r.implementing[method] = fs
	return fs
}

func (r *resolver) edge(c ssa.CallInstruction, f *ssa.Function) {
	if c == nil {
		return
	}
	at := place(c)
	if !at.IsValid() {
		return
	}
	s := r.source(at)
	if s == nil {
		return
	}
	kind := s.kinds[at]
	if kind != Interface && kind != Value {
		return
	}
	caller, site, ok := s.site(at)
	if !ok {
		return
	}
	for _, callee := range r.names(f) {
		if callee == caller && f.Parent() != nil {
			continue // its own function literal
		}
		es := r.edges[s.unit]
		es.dynamic = append(es.dynamic, Edge{Kind: kind, Caller: caller, Site: site, Callee: callee})
	}
}

// place returns the position of a call's site: see code.Sites. Calls in wrappers have none.
func place(c ssa.CallInstruction) token.Pos {
	if p := c.Common().Pos(); p.IsValid() {
		return p
	}
	// A range clause calls its iterator with the loop's body.
	for _, a := range c.Common().Args {
		if closure, ok := a.(*ssa.MakeClosure); ok {
			if f, ok := closure.Fn.(*ssa.Function); ok && f.Synthetic == "range-over-func yield" {
				return f.Pos()
			}
		}
	}
	return token.NoPos
}

// names returns the declarations that a function is, or calls if it is a wrapper.
func (r *resolver) names(f *ssa.Function) []Name {
	if n, ok := r.known[f]; ok {
		return n
	}
	r.known[f] = nil // wrappers that call themselves
	var names []Name
	if isWrapper(f) {
		if node := r.graph.Nodes[f]; node != nil && len(node.Out) > 0 {
			for _, e := range node.Out {
				names = append(names, r.names(e.Callee.Func)...)
			}
		}
	}
	if len(names) == 0 {
		if n, ok := r.name(f); ok {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, Name.compare)
	names = slices.Compact(names)
	r.known[f] = names
	return names
}

func (r *resolver) name(f *ssa.Function) (Name, bool) {
	if o := f.Origin(); o != nil {
		f = o
	}
	if obj, ok := f.Object().(*types.Func); ok {
		if recv := obj.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			return Name{}, false
		}
		return r.declared(obj.Origin())
	}
	if f.Pos().IsValid() {
		return r.around(f.Pos())
	}
	return Name{}, false
}

// isWrapper reports whether a function was made by go/ssa to call another.
func isWrapper(f *ssa.Function) bool {
	return f.Synthetic != "" && f.Syntax() == nil && f.Blocks != nil
}
