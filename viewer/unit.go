package viewer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"tracerag/knowledge/lookup"
	"tracerag/trace"
	"tracerag/trace/symbol"
	"tracerag/viewer/highlight"
	"tracerag/viewer/site"
)

// unitRef names a declaration, or without a name a file.
type unitRef struct {
	// Ref is the number by which the browser asks for it. What else it has of it is masked and
	// escaped, and may name nothing.
	Ref        int    `json:"ref"`
	Repository string `json:"repository"`
	Path       string `json:"path"`
	Name       string `json:"name,omitempty"`
	Line       int    `json:"line,omitempty"`
}

// refs are the declarations that a page has named, by the numbers that it gave them. A
// store's own would lead elsewhere after an update.
type refs struct {
	mu     sync.Mutex
	list   []unitRef
	number map[unitRef]int
}

// give numbers a reference.
func (r *refs) give(ref unitRef) unitRef {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref.Ref = 0
	n, ok := r.number[ref]
	if !ok {
		if r.number == nil {
			r.number = map[unitRef]int{}
		}
		n = len(r.list)
		r.number[ref] = n
		r.list = append(r.list, ref)
		r.list[n].Ref = n
	}
	ref.Ref = n
	return ref
}

// get returns what a number was given to.
func (r *refs) get(n int) (ref unitRef, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < 0 || n >= len(r.list) {
		return unitRef{}, false
	}
	return r.list[n], true
}

func (p *Page) refTo(u *lookup.Unit) unitRef {
	return p.refs.give(unitRef{Repository: u.Repository.Name, Path: u.Path, Name: u.Decl.Name, Line: u.Line})
}

// unit is a declaration as the browser gets it, with what is around it.
type unit struct {
	state
	unitRef
	Title string   `json:"title,omitempty"` // "table.(*T).Row"
	Kind  string   `json:"kind,omitempty"`
	Marks []string `json:"marks,omitempty"`
	text
	Callers     []around `json:"callers,omitempty"`
	Callees     []around `json:"callees,omitempty"`
	MoreCallers int      `json:"more_callers,omitempty"`
	MoreCallees int      `json:"more_callees,omitempty"`
	CallsNote   string   `json:"calls_note,omitempty"`
	Runs        []ranBy  `json:"runs,omitempty"`
	Tests       []around `json:"tests,omitempty"`    // that may run it
	Also        []around `json:"also,omitempty"`     // other declarations that may be meant
	Declares    []around `json:"declares,omitempty"` // by a file
	// Funcs are the functions of the page that are compiled from it, those in it too.
	Funcs []int `json:"funcs,omitempty"`
}

// around is a declaration that has to do with another one.
type around struct {
	unitRef
	Title string `json:"title"`
	How   string `json:"how,omitempty"`
	Lines []int  `json:"lines,omitempty"` // of the calls, in the caller
}

// unit answers with a declaration or a file that the page has named, or with what a function of the
// page is compiled from.
func (s *Server) unit(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Ref  *int `json:"ref"`
		Func *int `json:"func"`
	}
	if !site.ReadBody(w, r, "reference", &in) {
		return
	}
	var ref unitRef
	ok := false
	if in.Func != nil {
		ok = *in.Func >= 0 && *in.Func < len(s.page.functions)
	} else if in.Ref != nil {
		ref, ok = s.page.refs.get(*in.Ref)
	}
	if !ok {
		http.Error(w, "unknown declaration: the server was started anew since the page was loaded", http.StatusNotFound)
		return
	}
	st, err := s.state(r.Context(), false)
	out := unit{state: st}
	if err == nil && !st.Unknown {
		err = s.fill(r.Context(), &out, ref, in.Func)
	}
	s.answer(w, &out, err)
}

// fill looks a declaration or a file up.
func (s *Server) fill(ctx context.Context, out *unit, ref unitRef, fn *int) error {
	l, err := s.page.content.Sources.Lookup(ctx)
	if err != nil {
		return err
	}
	if fn != nil {
		units, err := s.page.compiledFrom(ctx, l, *fn)
		if err != nil {
			return err
		}
		out.Also = s.page.units(units[1:])
		return s.page.unit(ctx, out, l, units[0])
	}
	for _, of := range out.Of {
		if of.Repository != ref.Repository {
			continue
		}
		if ref.Name == "" {
			units, err := l.In(ctx, of.id, ref.Path)
			out.unitRef, out.Title, out.Kind, out.Declares = ref, ref.Path, "file", s.page.units(units)
			return err
		}
		u, err := l.At(ctx, of.id, ref.Path, ref.Name, ref.Line)
		if err != nil {
			return err
		}
		return s.page.unit(ctx, out, l, u)
	}
	return &lookup.NotFoundError{Name: ref.Repository}
}

func (p *Page) units(units []*lookup.Unit) (out []around) {
	for _, u := range units {
		out = append(out, around{unitRef: p.refTo(u), Title: u.Name(), How: strings.Join(append([]string{u.Kind.String()}, u.Marks()...), ", ")})
	}
	return out
}

// notInSourceError says that no repository that is indexed has a function of the page.
type notInSourceError struct{ name string }

func (e *notInSourceError) Error() string {
	return fmt.Sprintf("%s is of no source that is indexed: it is of another module, or was made by the compiler", e.name)
}

// declaration is the name of the declaration that a function is of, without its
// package: "(*T).Row", "init".
func declaration(fn *trace.Function) (name string, ok bool) {
	name = symbol.Local(symbol.Canonical(fn.Name))
	if name == "init" { // of variables: no function
		return "", false
	}
	if strings.HasPrefix(name, "init.") {
		name = "init"
	}
	return name, name != ""
}

// compiledFrom returns the declarations that function i may be of, at least one.
func (p *Page) compiledFrom(ctx context.Context, l *lookup.Lookup, i int) ([]*lookup.Unit, error) {
	fn := &p.functions[i].fn
	none := &notInSourceError{p.overview.Functions[i].Name}
	name, ok := declaration(fn)
	if !ok {
		return nil, none
	}
	units, err := l.Function(ctx, fn.Package, name, fn.File, fn.StartLine)
	if err == nil && len(units) == 0 {
		return nil, none
	}
	return units, err
}

// unit says all of a declaration that a person asks of it.
func (p *Page) unit(ctx context.Context, out *unit, l *lookup.Lookup, u *lookup.Unit) error {
	out.unitRef, out.Title, out.Kind, out.Marks = p.refTo(u), u.Name(), u.Kind.String(), u.Marks()
	out.text = p.textOf(u)
	if !u.Kind.Callable() {
		return nil
	}
	out.CallsNote = lookup.CallsKnown(u.Repository)
	callers, err := l.Callers(ctx, u)
	callees, err2 := l.Callees(ctx, u)
	tests, err3 := l.Tests(ctx, u, mostTests)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	out.Callers, out.MoreCallers = p.calls(callers)
	out.Callees, out.MoreCallees = p.calls(callees)
	for i := range tests {
		t := &tests[i]
		if t.Run != nil {
			out.Runs = append(out.Runs, p.ranBy(t.Run))
		} else {
			out.Tests = append(out.Tests, around{unitRef: p.refTo(t.Unit), Title: t.Name(), How: t.Distance()})
		}
	}
	for i := range p.functions {
		fn := &p.functions[i].fn
		name, ok := declaration(fn)
		if ok && name == u.Decl.Name && fn.Package == u.Package && base(fn.File) == base(u.Path) &&
			(name != "init" || fn.StartLine >= u.Line && fn.StartLine <= u.EndLine) {
			out.Funcs = append(out.Funcs, i)
		}
	}
	return nil
}

func (p *Page) calls(list []lookup.Call) (out []around, more int) {
	for i := range list[:min(len(list), mostAround)] {
		c := &list[i]
		out = append(out, around{unitRef: p.refTo(c.Unit), Title: c.Name(), How: c.How(), Lines: c.Lines})
	}
	return out, len(list) - len(out)
}

// textOf is the source of a declaration as its file is now.
func (p *Page) textOf(u *lookup.Unit) text {
	if u.Problem != "" {
		return text{Place: u.Path, Note: u.Problem}
	}
	out := text{Place: u.Path, Decl: u.Line}
	out.Start, out.Lines = highlight.Declaration(u.Doc, u.Text, u.Line, p.content.Mask)
	return out
}
