package locate

import (
	"cmp"
	"context"
	"slices"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/rank"
)

// Question is what is looked for.
type Question struct {
	Text string // a report: its first line is taken for a title
	In   string // a pattern of paths below the root, or of import paths; "" is everywhere
	// Test is a test that shows it, "TestX/y", and Package its import path, or the end of
	// one, or the directory below the root; "" is any.
	Test, Package string
	// Ran are the functions that a recorded run executed, as package rank has them
	// for this question.
	Ran []RanFunction
}

// Options says how to look.
type Options struct {
	Weights *Weights // nil is Default
	Limit   int      // of functions, files and packages; 0 is 10
	// Nearest finds functions by vectors; nil has none.
	Nearest Nearest
	// Repositories are those to look into, the likeliest first; nil is the three that the
	// question is likeliest about.
	Repositories []int64
	// Text reads a file of a repository, for several goroutines; nil reads the working tree.
	Text func(r *knowledge.Repository, path string) ([]byte, error)
}

// candidates is how many functions of the full text index are read and scored.
// bench/locating measures that no more are needed.
const candidates = 300

// repositories is how many repositories are looked into, if there are more.
const repositories = 3

// lists are the lists of evidence. Those that find candidates come before the texts are
// scored, the others after it.
var lists = []struct {
	name   string
	weight func(*Weights) float64
	before func(*search) error
	after  func(*search) error
}{
	{"ran", always, (*search).ran, nil},
	{"words", always, (*search).words, nil},
	{"names", func(w *Weights) float64 { return given(w.Names) }, (*search).names, nil},
	{"vectors", func(w *Weights) float64 { return w.Vectors }, (*search).vectors, nil},
	{"literals", func(w *Weights) float64 { return w.Literals }, (*search).literals, nil},
	{"frames", func(w *Weights) float64 { return w.Frames }, (*search).frames, nil},
	{"tests", func(w *Weights) float64 { return w.Tests }, (*search).tests, nil},
	{"place", func(w *Weights) float64 { return w.Place }, nil, (*search).place},
	{"history", func(w *Weights) float64 { return w.History }, nil, (*search).history},
	{"calls", func(w *Weights) float64 { return w.Calls }, nil, (*search).calls},
}

func always(*Weights) float64 { return 1 }

func given(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Locate finds what a question is about.
func Locate(ctx context.Context, store knowledge.Reader, q Question, o Options) (*Answer, error) {
	f, err := Find(ctx, store, q, o)
	if err != nil {
		return nil, err
	}
	return f.Answer(Order{})
}

// search is the state of one question.
type search struct {
	ctx    context.Context
	store  knowledge.Reader
	q      Question
	o      Options
	w      Weights
	report *report

	repos  []knowledge.Repository // the likeliest first
	routed []float64              // of each, 1 for the best
	scope  []int64                // that are looked into

	found    map[int64]*candidate
	texts    map[fileKey]*lookup.File // nil: it can't be read
	stale    map[string]bool
	subjects map[int64][]subject // of repositories
	rarity   *rank.Known
	files    []knowledge.File // that come first, by somebody else's order
}

// candidate is a function that may be meant.
type candidate struct {
	knowledge.Decl
	text  float64       // score by package rank
	why   []rank.Reason // of text
	marks []rank.Reason // of the lists
	ran   bool
	place int // in somebody else's order, from 1; 0 none
}

func (c *candidate) score() float64 {
	sum := c.text
	for _, m := range c.marks {
		sum += m.Weight
	}
	return sum
}

func (c *candidate) reasons() []rank.Reason { return append(slices.Clone(c.why), c.marks...) }

func (s *search) run() error {
	if err := s.resolveTest(); err != nil {
		return err
	}
	if err := s.route(); err != nil {
		return err
	}
	for _, l := range lists {
		if l.before != nil && l.weight(&s.w) != 0 {
			if err := l.before(s); err != nil {
				return err
			}
		}
	}
	if err := s.score(); err != nil {
		return err
	}
	for _, l := range lists {
		if l.after != nil && l.weight(&s.w) != 0 {
			if err := l.after(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// add makes a function a candidate, if it is one of the program that was asked for.
func (s *search) add(d knowledge.Decl) *candidate {
	if c := s.found[d.ID]; c != nil {
		return c
	}
	if !s.admits(&d) {
		return nil
	}
	c := &candidate{Decl: d}
	s.found[d.ID] = c
	return c
}

func (s *search) admits(d *knowledge.Decl) bool {
	return d.Kind.Callable() && !d.Test && !d.Vendored && !d.Testdata && !d.Generated && knowledge.Within(s.q.In, d.Path, d.Package)
}

// mark adds a reason to a candidate. Of several of one kind the greatest counts.
func (c *candidate) mark(k rank.Kind, weight float64, what string) {
	if c == nil || weight == 0 {
		return
	}
	for i := range c.marks {
		if r := &c.marks[i]; r.Kind == k {
			if weight > r.Weight {
				r.Weight, r.What = weight, what
			}
			return
		}
	}
	c.marks = append(c.marks, rank.Reason{Kind: k, Weight: weight, What: what})
}

// sorted returns the candidates, the best first: what somebody else chose, then what ran.
func (s *search) sorted() []*candidate {
	out := make([]*candidate, 0, len(s.found))
	for _, c := range s.found {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *candidate) int {
		if a.place != b.place {
			return order(a.place, b.place)
		}
		if a.ran != b.ran {
			if a.ran {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.score(), a.score()), cmp.Compare(a.Repository, b.Repository),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// order compares places, of which 0 is none and comes last.
func order(a, b int) int { return cmp.Compare(uint(a-1), uint(b-1)) }

func (s *search) repo(id int64) *knowledge.Repository {
	for i := range s.repos {
		if s.repos[i].ID == id {
			return &s.repos[i]
		}
	}
	return &knowledge.Repository{ID: id}
}
