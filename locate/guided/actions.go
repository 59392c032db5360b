package guided

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/visible"
)

// action is something that a model may look at.
type action struct {
	name string
	do   func(a *agent, argument string) (string, error)
}

var actions = []action{
	{"search_type", (*agent).searchType},
	{"search_function", (*agent).searchFunction},
	{"search_code", (*agent).searchCode},
	{"executed_by", (*agent).executedBy},
	{"callers", (*agent).callers},
}

func actionNames() []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.name)
	}
	return out
}

// Of what an action shows: tokens, and declarations of one name, lines, callers or runs.
const (
	mostObserved = 1500
	mostShown    = 10
)

// act does what the model wants to see done. A name that nothing has is no error: the model
// learns it.
func (a *agent) act(name, argument string) (string, error) {
	i := slices.IndexFunc(actions, func(x action) bool { return x.name == name })
	text, err := actions[i].do(a, argument)
	if missing := (*lookup.NotFoundError)(nil); errors.As(err, &missing) {
		return visible.Line(missing.Error()) + "\n", nil
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// observed is how many tokens an observation may have.
func (a *agent) observed() int { return min(mostObserved, a.Model.Room()/4) }

// find returns what a name means, of the program.
func (a *agent) find(name string, is func(*knowledge.Decl) bool) ([]*lookup.Unit, error) {
	units, err := a.look.Find(a.ctx, name)
	if err != nil {
		return nil, err
	}
	units = slices.DeleteFunc(units, func(u *lookup.Unit) bool { return !u.Product() || !is(&u.Decl) })
	if len(units) == 0 {
		return nil, &lookup.NotFoundError{Name: name}
	}
	return units, nil
}

// function returns the functions of a name.
func (a *agent) function(name string) ([]*lookup.Unit, error) {
	return a.find(name, func(d *knowledge.Decl) bool { return d.Kind.Callable() })
}

// named is the headline of a function with its number, if it can be chosen.
func (a *agent) named(u *lookup.Unit, by string) string {
	if !a.found.Admits(&u.Decl) {
		return a.headline(u)
	}
	return fmt.Sprintf("[%d] %s", a.show(&u.Decl, by), a.headline(u))
}

// others says how many are not shown.
func others(all int, what string) string {
	if all <= mostShown {
		return ""
	}
	return fmt.Sprintf("[%d more %s]\n", all-mostShown, what)
}

func (a *agent) searchType(name string) (string, error) {
	units, err := a.find(name, func(d *knowledge.Decl) bool { return d.Kind == code.Type })
	if err != nil {
		return "", err
	}
	var b strings.Builder
	tokens := a.observed()
	few := units[:min(len(units), 3)]
	for _, u := range few {
		fmt.Fprintf(&b, "%s\n%s", a.headline(u), a.source(u, tokens/len(few)/2))
		methods, err := a.methods(u)
		if err != nil {
			return "", err
		}
		for i := range methods[:min(len(methods), mostShown)] {
			m, err := a.unit(&methods[i])
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&b, a.named(m, "search_type "+name))
		}
		b.WriteString(others(len(methods), "methods"))
	}
	if n := len(units) - len(few); n > 0 {
		fmt.Fprintf(&b, "[%d more types have this name: write pkg.T]\n", n)
	}
	return b.String(), nil
}

// methods returns the methods of a type, in the order of words.
func (a *agent) methods(u *lookup.Unit) ([]knowledge.Decl, error) {
	files, err := a.Store.Product(a.ctx, u.Decl.Repository)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, f := range files {
		if f.ImportPath() == u.Package {
			ids = append(ids, f.ID)
		}
	}
	decls, err := a.Store.In(a.ctx, ids)
	decls = slices.DeleteFunc(decls, func(d knowledge.Decl) bool {
		of, _, _ := strings.Cut(strings.NewReplacer("(*", "", ")", "").Replace(d.Name), ".")
		return d.Kind != code.Method || of != u.Decl.Name
	})
	slices.SortStableFunc(decls, func(x, y knowledge.Decl) int { return a.tree.placeOf(&x) - a.tree.placeOf(&y) })
	return decls, err
}

func (a *agent) searchFunction(name string) (string, error) {
	units, err := a.function(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	tokens := a.observed()
	few := units[:min(len(units), 3)]
	for _, u := range few {
		fmt.Fprintf(&b, "%s\n%s", a.named(u, "search_function "+name), a.source(u, tokens/len(few)-50))
	}
	rest := units[len(few):]
	for _, u := range rest[:min(len(rest), mostShown)] {
		fmt.Fprintln(&b, a.named(u, "search_function "+name))
	}
	b.WriteString(others(len(rest), "functions"))
	return b.String(), nil
}

// looked is how many functions search_code reads.
const looked = 100

// searchCode looks into the functions that have the text in a literal, or most of its words.
func (a *agent) searchCode(text string) (string, error) {
	decls, err := a.Store.Quoting(a.ctx, []string{text}, nil)
	if err != nil {
		return "", err
	}
	if terms := words.Terms(text); len(terms) > 0 {
		hits, err := a.Store.Search(a.ctx, knowledge.Query{Terms: terms, Files: a.tree.in, Kinds: []code.Kind{code.Func, code.Method}, Limit: looked})
		if err != nil {
			return "", err
		}
		for _, h := range hits {
			if !slices.ContainsFunc(decls, func(d knowledge.Decl) bool { return d.ID == h.ID }) {
				decls = append(decls, h.Decl)
			}
		}
	}
	decls = slices.DeleteFunc(decls, func(d knowledge.Decl) bool { return !a.found.Admits(&d) })
	var b strings.Builder
	n := 0
	for i := range decls[:min(len(decls), looked)] {
		u, err := a.unit(&decls[i])
		if err != nil {
			return "", err
		}
		line := u.Line
		for l := range strings.Lines(u.Text[:min(len(u.Text), largest)]) {
			if strings.Contains(strings.ToLower(l), strings.ToLower(text)) {
				if n++; n <= mostShown {
					fmt.Fprintf(&b, "%s\n    line %d: %s\n", a.named(u, "search_code "+text), line, cut(visible.Line(strings.TrimSpace(l)), longestLine))
				}
				break
			}
			line++
		}
	}
	if n > 0 {
		return b.String() + others(n, "functions"), nil
	}
	if len(decls) == 0 {
		return "No function has this text, or words of it.\n", nil
	}
	b.WriteString("No line has this text. Functions with words of it:\n")
	for i := range decls[:min(len(decls), mostShown/2)] {
		u, err := a.unit(&decls[i])
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, a.named(u, "search_code "+text))
	}
	return b.String(), nil
}

func (a *agent) executedBy(name string) (string, error) {
	units, err := a.function(name)
	if err != nil {
		return "", err
	}
	u := units[0]
	var b strings.Builder
	fmt.Fprintln(&b, a.named(u, "executed_by "+name))
	tests, err := a.look.Tests(a.ctx, u, mostShown)
	if err != nil {
		return "", err
	}
	for _, t := range tests[:min(len(tests), mostShown)] {
		switch {
		case t.Run != nil && t.Run.Test != "":
			fmt.Fprintf(&b, "executed by the recorded test %s of %s\n", cut(visible.Line(t.Run.Test), longestLine), visible.Line(t.Run.Package))
		case t.Run != nil:
			fmt.Fprintf(&b, "executed by the recorded run of %s\n", cut(visible.Line(t.Run.Command), longestLine))
		case t.Unit != nil:
			fmt.Fprintf(&b, "%s in %s: %s\n", visible.Line(t.Unit.Decl.Name), t.Unit.Place(), t.Distance())
		}
	}
	b.WriteString(others(len(tests), "runs and tests"))
	if len(tests) == 0 {
		b.WriteString("No saved run executed it, and no test is known from which calls lead to it.\n")
		if why := lookup.CallsKnown(u.Repository); why != "" {
			fmt.Fprintln(&b, visible.Line(why))
		}
	}
	return b.String(), nil
}

func (a *agent) callers(name string) (string, error) {
	units, err := a.function(name)
	if err != nil {
		return "", err
	}
	u := units[0]
	var b strings.Builder
	fmt.Fprintln(&b, a.named(u, "callers "+name))
	calls, err := a.look.Callers(a.ctx, u)
	if err != nil {
		return "", err
	}
	for _, c := range calls[:min(len(calls), mostShown)] {
		fmt.Fprintf(&b, "called by %s (%s)\n", a.named(c.Unit, "callers "+name), c.How())
		for _, line := range c.Lines[:min(len(c.Lines), 1)] {
			if l := lineOf(c.Unit, line); l != "" {
				fmt.Fprintf(&b, "    line %d: %s\n", line, cut(visible.Line(l), longestLine))
			}
		}
	}
	b.WriteString(others(len(calls), "callers"))
	if len(calls) == 0 {
		b.WriteString("No caller is known.\n")
		if why := lookup.CallsKnown(u.Repository); why != "" {
			fmt.Fprintln(&b, visible.Line(why))
		}
	}
	return b.String(), nil
}

// lineOf returns a line of a declaration's file; "" if it is not one of the declaration.
func lineOf(u *lookup.Unit, line int) string {
	at := u.Line
	for l := range strings.Lines(u.Text) {
		if at == line {
			return strings.TrimSpace(l)
		}
		at++
	}
	return ""
}
