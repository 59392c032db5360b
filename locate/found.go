package locate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/rank"
)

// Found is what the lists of evidence found, for somebody who knows a better order.
type Found struct{ s *search }

// Find looks for what a question is about. Limit counts in [Found.Answer].
func Find(ctx context.Context, store knowledge.Reader, q Question, o Options) (*Found, error) {
	s := &search{ctx: ctx, store: store, q: q, o: o, w: Default, report: read(q.Text),
		found: map[int64]*candidate{}, texts: map[fileKey]*lookup.File{}, stale: map[string]bool{}, subjects: map[int64][]subject{}}
	if o.Weights != nil {
		s.w = *o.Weights
	}
	s.o.Limit = cmp.Or(o.Limit, 10)
	if s.o.Text == nil {
		s.o.Text = lookup.ReadTree
	}
	if q.In != "" {
		if _, err := path.Match(q.In, ""); err != nil {
			return nil, fmt.Errorf("locate: the pattern %q is malformed: close its [, or write \\[", q.In)
		}
		s.q.In = path.Clean(filepath.ToSlash(q.In)) // "doc/" is doc
	}
	err := s.run()
	if err == nil {
		err = s.checkPattern()
	}
	if err != nil {
		return nil, fmt.Errorf("locate: %w", err)
	}
	return &Found{s}, nil
}

// Repositories are those of the store, the likeliest first, and how many of them were looked
// into.
func (f *Found) Repositories() (all []knowledge.Repository, lookedInto int) {
	return f.s.repos, len(f.s.scope)
}

// Candidates are the functions that were found, the best first.
func (f *Found) Candidates() []knowledge.Decl {
	var out []knowledge.Decl
	for _, c := range f.s.sorted() {
		out = append(out, c.Decl)
	}
	return out
}

// Order is what comes first in an answer, whatever the evidence says. What it does not name
// keeps its order behind.
type Order struct {
	Files     []knowledge.File // behind those of Functions
	Functions []Chosen
}

// Chosen is a function, and what made somebody choose it.
type Chosen struct {
	Decl   knowledge.Decl
	Reason rank.Reason
}

// ErrOutside says that a function that was chosen is none that is located: that of a test,
// one that is generated, or outside of the pattern.
var ErrOutside = errors.New("the function is not one of the program, or not in the pattern")

// Admits reports whether a declaration may be in the answer.
func (f *Found) Admits(d *knowledge.Decl) bool { return f.s.admits(d) }

// Answer makes the answer, in an order of somebody else as far as there is one.
func (f *Found) Answer(o Order) (*Answer, error) {
	s := *f.s                            // each order begins with what was found
	s.ctx = context.WithoutCancel(s.ctx) // somebody whose time is over gets it, too
	s.found = map[int64]*candidate{}
	for id, c := range f.s.found {
		c := *c
		c.marks = slices.Clone(c.marks)
		s.found[id] = &c
	}
	for i := range o.Functions {
		chosen := &o.Functions[i]
		c := s.add(chosen.Decl)
		if c == nil {
			return nil, fmt.Errorf("locate: %s: %w", chosen.Decl.Name, ErrOutside)
		}
		if c.place == 0 {
			c.place = i + 1
			c.mark(chosen.Reason.Kind, chosen.Reason.Weight, chosen.Reason.What)
		}
	}
	s.files = o.Files
	a, err := s.answer()
	if err != nil {
		return nil, fmt.Errorf("locate: %w", err)
	}
	return a, nil
}
