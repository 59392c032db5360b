package locate

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/trace/symbol"
	"tracerag/visible"
)

const (
	// shownRuns is how many saved runs an answer names, and bestForRuns of how many
	// functions they executed some.
	shownRuns, bestForRuns = 3, 5
)

// evidenceToRecord says which saved runs executed the best functions, and which test would
// show the best one.
func (s *search) evidenceToRecord(a *Answer, best []*candidate) error {
	if len(best) == 0 {
		return nil
	}
	var ids []int64
	for _, c := range best[:min(len(best), bestForRuns)] {
		ids = append(ids, c.ID)
	}
	runs, err := s.store.Runs(s.ctx, ids)
	if err != nil {
		return err
	}
	a.Runs = runs[:min(len(runs), shownRuns)]
	for _, r := range a.Runs {
		a.Recorded = append(a.Recorded, r.Trace)
	}
	for _, find := range []func(*candidate) (*runnable, string, error){s.reaching, s.namedAlike} {
		test, why, err := find(best[0])
		if err != nil {
			return err
		}
		if test != nil {
			a.Record = s.record(test, why)
			return nil
		}
	}
	return nil
}

// runnable is a test that this machine can run.
type runnable struct {
	*knowledge.Decl
	tags []string // that its file needs, or the function's that it is to show
}

// record says how to run a test: in its module, by its package.
func (s *search) record(test *runnable, why string) *Record {
	repo := s.repo(test.Repository)
	r := &Record{Dir: repo.Root, Package: "./" + path.Dir(test.Path), Tags: test.tags, Test: test.Name, Why: why}
	for _, m := range repo.Modules {
		if m.Path == test.Module {
			r.Dir = filepath.Join(repo.Root, filepath.FromSlash(m.Dir))
			dir := path.Dir(test.Path)
			if m.Dir != "." && m.Dir != "" {
				dir = strings.TrimPrefix(strings.TrimPrefix(dir, m.Dir), "/")
			}
			r.Package = "./" + dir
			break
		}
	}
	r.Package = strings.TrimSuffix(strings.TrimSuffix(r.Package, "."), "/")
	if r.Package == "" || r.Package == "./" {
		r.Package = "."
	}
	return r
}

// reaching returns the nearest test from which calls lead to a function: of several equally
// near ones that with most words of the report.
func (s *search) reaching(c *candidate) (test *runnable, why string, err error) {
	source := func(e knowledge.Edge) bool { return e.Kind != knowledge.Ran } // what ran is recorded
	err = lookup.Reaching(s.ctx, s.store, c.ID, source, func(tests []knowledge.Decl, steps int) (more bool, err error) {
		if test, err = s.likest(tests, c); test == nil {
			return true, err
		}
		why = "calls it"
		if steps > 1 {
			why = "leads there by its calls"
		}
		return false, nil
	})
	return test, why, err
}

// namedAlike returns the test of a function's package that has most words of the function's
// name and of the report in its own: one of the test file beside the function's, or one that a
// search finds.
func (s *search) namedAlike(c *candidate) (*runnable, string, error) {
	const why = "is of the same package, and its name is like it"
	dir := path.Dir(c.Path)
	files, err := s.store.Files(s.ctx, []string{strings.TrimSuffix(c.Path, ".go") + "_test.go"}, []int64{c.Repository})
	if err != nil {
		return nil, "", err
	}
	var ids []int64
	for _, f := range files {
		if path.Dir(f.Path) == dir {
			ids = append(ids, f.ID)
		}
	}
	decls, err := s.store.In(s.ctx, ids)
	if err != nil {
		return nil, "", err
	}
	if t, err := s.likest(decls, c); err != nil || t != nil && len(t.tags) == 0 {
		return t, why, err
	}
	terms := append(nameTerms(c.Name), words.Terms(symbol.Base(c.Package))...)
	hits, err := s.store.Search(s.ctx, knowledge.Query{Terms: terms, Repositories: []int64{c.Repository},
		Kinds: []code.Kind{code.Func}, Tests: true, Limit: candidates})
	if err != nil {
		return nil, "", err
	}
	for _, h := range hits {
		if path.Dir(h.Path) == dir {
			decls = append(decls, h.Decl)
		}
	}
	test, err := s.likest(decls, c)
	return test, why, err
}

// likest returns the test whose name has most of the words of a function's name and of
// the report: of those that this machine builds as they are, and else of those that it builds
// with tags.
func (s *search) likest(decls []knowledge.Decl, c *candidate) (*runnable, error) {
	tests, err := s.runnable(slices.DeleteFunc(slices.Clone(decls), func(d knowledge.Decl) bool { return !lookup.IsTest(&d) }), c)
	if err != nil {
		return nil, err
	}
	weights := map[string]float64{}
	for t, w := range s.report.weights() {
		weights[t] = w / 2
	}
	for _, t := range nameTerms(c.Name) {
		weights[t]++
	}
	slices.SortFunc(tests, func(a, b runnable) int {
		return cmp.Or(cmp.Compare(len(a.tags), len(b.tags)), strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	var best *runnable
	most := -1.0
	for i := range tests {
		if len(tests[i].tags) > len(tests[0].tags) {
			break
		}
		terms := nameTerms(strings.TrimPrefix(tests[i].Name, "Test"))
		sum := 0.0
		for _, t := range terms {
			sum += weights[t]
		}
		if sum /= float64(len(terms) + 1); sum > most {
			best, most = &tests[i], sum
		}
	}
	return best, nil
}

// runnable returns the tests that are built on this machine together with a function, and with
// which tags.
func (s *search) runnable(tests []knowledge.Decl, c *candidate) ([]runnable, error) {
	if len(tests) == 0 {
		return nil, nil
	}
	paths := []string{c.Path}
	repositories := []int64{c.Repository}
	for i := range tests {
		paths, repositories = append(paths, tests[i].Path), append(repositories, tests[i].Repository)
	}
	files, err := s.store.Files(s.ctx, unique(paths), repositories)
	if err != nil {
		return nil, err
	}
	built := func(d *knowledge.Decl) code.Built {
		b := code.Built{Name: path.Base(d.Path)}
		for i := range files {
			if files[i].ID == d.File {
				b.Constraint = files[i].Constraint
			}
		}
		return b
	}
	var out []runnable
	for i := range tests {
		if visible.Line(tests[i].Path) != tests[i].Path {
			continue // the go command does not take such a name
		}
		if tags, ok := code.Tags(built(&c.Decl), built(&tests[i])); ok {
			out = append(out, runnable{&tests[i], tags})
		}
	}
	return out, nil
}
