package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/viewer/highlight"
)

// unit is a declaration with what is around it.
type unit struct {
	entry
	Place       string           `json:"place"` // of the repository's state
	Marks       []string         `json:"marks,omitempty"`
	Start       int              `json:"start,omitempty"` // line of the first of Source
	Source      []highlight.Line `json:"source,omitempty"`
	Cut         int              `json:"cut,omitempty"`  // lines that are left out at the end
	Note        string           `json:"note,omitempty"` // why the source is missing
	Callers     []entry          `json:"callers,omitempty"`
	Callees     []entry          `json:"callees,omitempty"`
	MoreCallers int              `json:"more_callers,omitempty"`
	MoreCallees int              `json:"more_callees,omitempty"`
	CallsNote   string           `json:"calls_note,omitempty"`
	Executed    []execution      `json:"executed,omitempty"` // by tests and programs
	MoreRan     bool             `json:"more_executed,omitempty"`
	Tests       []entry          `json:"tests,omitempty"` // that may execute it
	MoreTests   bool             `json:"more_tests,omitempty"`
}

// execution is how a test or a program executed a function.
type execution struct {
	Trace    string     `json:"trace"`
	What     string     `json:"what"` // test, or command line
	Package  string     `json:"package,omitempty"`
	Module   string     `json:"module,omitempty"`
	Commit   string     `json:"commit,omitempty"`
	Passed   bool       `json:"passed"`
	Calls    int64      `json:"calls"`
	Recorded *time.Time `json:"recorded,omitempty"`
}

func (s *Server) unit(w http.ResponseWriter, r *http.Request) {
	ask(s, w, r, "function", (*reference).String, func(ctx context.Context, in *reference) (any, error) {
		l, u, err := s.unitNamed(ctx, in)
		if err != nil {
			return nil, err
		}
		out := unit{entry: entryOf(u), Marks: u.Marks(), Place: u.Repository.Snapshot.String()}
		out.How = ""
		s.source(&out, u)
		_, about, err := s.does(ctx, []*lookup.Unit{u})
		if err != nil {
			return nil, err
		}
		out.Summary = about[u.ID]
		if u.Kind.Callable() {
			err = s.around(ctx, &out, l, u)
		}
		return &out, err
	})
}

// unitNamed returns the declaration that a reference names, and what looked it up.
func (s *Server) unitNamed(ctx context.Context, in *reference) (*lookup.Lookup, *lookup.Unit, error) {
	repo, err := s.repositoryNamed(ctx, in.Repository)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.declNamed(ctx, repo, in.Path, in.Symbol)
	if err != nil {
		return nil, nil, err
	}
	l := s.reader()
	units, err := l.Units(ctx, []knowledge.Decl{*d})
	if err != nil {
		return nil, nil, err
	}
	return l, units[0], nil
}

// source puts the text on a page.
func (s *Server) source(out *unit, u *lookup.Unit) {
	if u.Problem != "" {
		out.Note = u.Problem
		return
	}
	// A secret is known by what is around it, in the whole file.
	if text, err := s.content.Text(u.Repository, u.Path); err == nil {
		s.content.Secrets.LearnTexts([]string{string(text)})
	}
	out.Start, out.Source = highlight.Declaration(u.Doc, u.Text, u.Line, s.content.Secrets.Text)
	if n := len(out.Source); n > mostLines {
		out.Source, out.Cut = out.Source[:mostLines], n-mostLines
	}
}

// around says what calls a function, what it calls, and what executed it.
func (s *Server) around(ctx context.Context, out *unit, l *lookup.Lookup, u *lookup.Unit) error {
	out.CallsNote = lookup.CallsKnown(u.Repository)
	callers, err := l.Callers(ctx, u)
	callees, err2 := l.Callees(ctx, u)
	tests, err3 := l.Tests(ctx, u, mostTests+1)
	ran, err4 := s.executed(ctx, u)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	out.Callers, out.MoreCallers = calls(callers)
	out.Callees, out.MoreCallees = calls(callees)
	for i := range tests {
		if t := &tests[i]; t.Run == nil {
			if len(out.Tests) == mostTests {
				out.MoreTests = true
				break
			}
			e := entryOf(t.Unit)
			e.How = t.Distance()
			out.Tests = append(out.Tests, e)
		}
	}
	out.MoreRan = len(ran) > mostRan
	for i := range ran[:min(len(ran), mostRan)] {
		out.Executed = append(out.Executed, s.execution(&ran[i]))
	}
	return nil
}

func calls(list []lookup.Call) (out []entry, more int) {
	for i := range list[:min(len(list), mostAround)] {
		e := entryOf(list[i].Unit)
		e.How, e.Lines = list[i].How(), list[i].Lines
		out = append(out, e)
	}
	return out, len(list) - len(out)
}

// executed returns what executed a declaration, one more than is shown at most.
func (s *Server) executed(ctx context.Context, u *lookup.Unit) ([]knowledge.Execution, error) {
	name := knowledge.FunctionName{Package: u.Package, Name: u.Decl.Name}
	if i := strings.LastIndexByte(u.Decl.Name, '.'); i >= 0 {
		name.Type, name.Name = strings.Trim(u.Decl.Name[:i], "(*)"), u.Decl.Name[i+1:]
	}
	list, err := s.content.Store.Executions(ctx, name, 4*mostRan)
	// The name may mean more, such as a package whose path ends so.
	want := u.Package + "." + u.Decl.Name
	list = slices.DeleteFunc(list, func(e knowledge.Execution) bool { return e.Function != want })
	return list[:min(len(list), mostRan+1)], err
}

func (s *Server) execution(e *knowledge.Execution) execution {
	out := execution{Trace: e.ID, What: e.Test, Package: e.Package, Module: e.Module, Commit: e.Commit[:min(len(e.Commit), 12)], Passed: e.Passed, Calls: e.Calls}
	if e.Test == "" {
		s.content.Secrets.LearnCommand(e.Command) // of what was indexed, and not pushed, nothing is masked before
		out.What, out.Package = e.Command, ""
	}
	if !e.Recorded.IsZero() {
		out.Recorded = &e.Recorded
	}
	return out
}

// missingTrace is the refusal of a trace that a function has not.
func missingTrace(id string) error {
	return &refusal{http.StatusNotFound, fmt.Sprintf("no trace %s of this function is known: it was dropped since", id)}
}
