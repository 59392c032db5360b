package locate

import (
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// resolveTest finds the test that a question names, so that its package is an import path.
func (s *search) resolveTest() error {
	if s.q.Test == "" {
		return nil
	}
	top, _, _ := strings.Cut(s.q.Test, "/")
	decls, err := s.store.Named(s.ctx, []string{top}, nil)
	if err != nil {
		return err
	}
	pkg := strings.Trim(strings.TrimPrefix(s.q.Package, "./"), "/")
	for i := range decls {
		d := &decls[i]
		if d.Test && d.Name == top && (pkg == "" || pkg == path.Dir(d.Path) || pkg == "." && path.Dir(d.Path) == "." || isAt(d, pkg)) {
			s.q.Package = strings.TrimSuffix(d.Package, "_test")
			return nil
		}
	}
	if len(s.q.Ran) > 0 { // the run knows it
		return nil
	}
	return &NoTestError{Package: s.q.Package, Test: top}
}

// NoTestError says that a test is not known.
type NoTestError struct{ Package, Test string }

func (e *NoTestError) Error() string {
	if e.Package == "" {
		return "no test " + e.Test + " in the repositories that are indexed"
	}
	return "no test " + e.Test + " in package " + e.Package + " of the repositories that are indexed"
}

// tests marks what the tests call that the question or the report names: by the calls
// that the store knows, or by names in the test's package if it knows none.
func (s *search) tests() error {
	names := slices.Clone(s.report.tests)
	asked, _, _ := strings.Cut(s.q.Test, "/")
	if asked != "" {
		names = unique(append(names, asked))
	}
	if len(names) == 0 {
		return nil
	}
	decls, err := s.store.Named(s.ctx, names, s.scope)
	if err != nil {
		return err
	}
	for i := range decls {
		d := &decls[i]
		if !d.Test || d.Kind != code.Func || d.Name == asked && strings.TrimSuffix(d.Package, "_test") != s.q.Package {
			continue
		}
		if err := s.calledByTest(d); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) calledByTest(test *knowledge.Decl) error {
	edges, err := s.store.Callees(s.ctx, []int64{test.ID})
	if err != nil {
		return err
	}
	var called []knowledge.Decl
	if len(edges) > 0 {
		var ids []int64
		for _, e := range edges {
			ids = append(ids, e.Callee)
		}
		called, err = s.store.Decls(s.ctx, ids)
	} else if text, err2 := s.o.Text(s.repo(test.Repository), test.Path); err2 == nil && test.End <= len(text) {
		called, err = s.store.Named(s.ctx, calledNames(test.Of(text)), []int64{test.Repository})
		called = slices.DeleteFunc(called, func(d knowledge.Decl) bool {
			return d.Package != strings.TrimSuffix(test.Package, "_test")
		})
	}
	if err != nil {
		return err
	}
	for i := range called {
		if c := s.add(called[i]); c != nil && !c.ran {
			c.mark(Tested, s.w.Tests, test.Name)
		}
	}
	return nil
}

// calledNames returns the identifiers of a source text that are before "(".
func calledNames(text []byte) []string {
	var out []string
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	last := ""
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return unique(out)
		case tok == token.LPAREN && last != "":
			out = append(out, last)
		}
		last = ""
		if tok == token.IDENT {
			last = lit
		}
	}
}
