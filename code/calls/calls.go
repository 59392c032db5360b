package calls

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tracerag/code"
)

// Kind says what is known of a call's callee.
type Kind byte

// The kinds.
const (
	Static    Kind = iota + 1 // the call names it
	Interface                 // it may be called: the call is one of an interface's method
	Value                     // it may be called: the call is one of a function value
)

var kinds = [...]string{Static: "static", Interface: "interface", Value: "value"}

func (k Kind) String() string {
	if int(k) < len(kinds) && k > 0 {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", byte(k))
}

// Name names a declaration of the repository.
type Name struct {
	Package string // import path; that of "package x_test" ends in "_test"
	File    string // slash path below Config.Root
	Symbol  string // as code.Decl.Symbol returns it
}

func (n Name) String() string { return n.Package + "." + n.Symbol }

func (n Name) compare(o Name) int {
	return cmp.Or(strings.Compare(n.Package, o.Package), strings.Compare(n.File, o.File), strings.Compare(n.Symbol, o.Symbol))
}

// Edge is a call, or a possible one, of one declaration by another.
type Edge struct {
	Kind   Kind
	Caller Name
	Site   int // of the caller: see code.Sites
	Callee Name
}

func (e Edge) compare(o Edge) int {
	return cmp.Or(e.Caller.compare(o.Caller), cmp.Compare(e.Site, o.Site), cmp.Compare(e.Kind, o.Kind), e.Callee.compare(o.Callee))
}

// GapKind says why edges are missing.
type GapKind byte

// The kinds of gaps.
const (
	Excluded GapKind = iota + 1 // a build constraint excludes a file here
	Cgo                         // a file needs cgo, which is not used
	Missing                     // a module is not on this machine
	Wrong                       // the code has errors
	Depends                     // a package of the repository that it imports has errors
	Failed                      // neither the code's fault nor the machine's
)

// Gap is a part of the repository whose edges are not known.
type Gap struct {
	Kind    GapKind
	Package string // import path; "" the module
	File    string // "" the whole package
	Symbol  string // "" the whole file
	Reason  string // with the position, if it is known
}

func (g Gap) compare(o Gap) int {
	return cmp.Or(strings.Compare(g.Package, o.Package), strings.Compare(g.File, o.File), strings.Compare(g.Symbol, o.Symbol),
		cmp.Compare(g.Kind, o.Kind), strings.Compare(g.Reason, o.Reason))
}

// String says what is missing, and why.
func (g Gap) String() string {
	what := "module"
	switch {
	case g.Symbol != "":
		what = g.File + ": " + g.Symbol
	case g.File != "":
		what = g.File
	case g.Package != "":
		what = "package " + g.Package
	}
	return what + ": " + g.Reason
}

// Package has the calls of one package, its test files and "package x_test" included.
type Package struct {
	Path string // import path; not that of "package x_test"
	// Static are the calls whose callee is named. They change only with the package or
	// with what the packages declare that it imports.
	Static []Edge
	// Dynamic are the calls of other callees: Interface and Value. Any change of the
	// module may change them.
	Dynamic []Edge
	Gaps    []Gap
	// StaticKey and DynamicKey are hashes of Static, and of Dynamic and Gaps: equal keys,
	// equal rows. Rows whose key is stored need not be stored again.
	StaticKey, DynamicKey code.Hash
}

// Graph has the calls of a module.
type Graph struct {
	Module   string    // its path; "" unknown
	Packages []Package // by path
	Gaps     []Gap     // of the module as a whole
}

// Edges returns the edges of all packages, in order.
func (g *Graph) Edges() []Edge {
	var all []Edge
	for _, p := range g.Packages {
		all = append(append(all, p.Static...), p.Dynamic...)
	}
	slices.SortFunc(all, Edge.compare)
	return all
}

// AllGaps returns the gaps of the module and its packages.
func (g *Graph) AllGaps() []Gap {
	all := slices.Clone(g.Gaps)
	for _, p := range g.Packages {
		all = append(all, p.Gaps...)
	}
	return all
}

// Config says what to load, and how.
type Config struct {
	Dir  string // of the module
	Root string // of the repository; "" is Dir. All code below it is the repository's own
	// Tests includes test files and the candidates in them.
	Tests bool
	// Network lets the go command download missing modules as the environment says.
	Network bool
	// Env is the environment of the go command; nil is the process's.
	Env []string
}

// Load returns the calls of a module's packages. An error says that nothing could be loaded: the
// go command is missing, the directory is not a module. What is wrong with a part is in the
// gaps.
func Load(ctx context.Context, c Config) (*Graph, error) {
	l, err := list(ctx, c)
	if err != nil {
		return nil, err
	}
	for {
		m := newModule(l)
		if err := m.check(ctx); err != nil {
			return nil, err
		}
		m.static()
		err := m.dynamic()
		if f, ok := err.(*buildError); ok && !l.refused[f.unit] {
			// go/ssa panicked. Everything but this package is loaded again.
			l.refuse(f)
			continue
		} else if err != nil {
			return nil, err
		}
		return m.graph(), ctx.Err()
	}
}
