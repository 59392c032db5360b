package catalog

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/viewer/guard"
)

// query is what is looked for, in one repository or in all.
type query struct {
	Text       string `json:"text"`
	Repository string `json:"repository,omitempty"`
}

func (q *query) String() string {
	if q.Repository != "" {
		return q.Text + " (in " + q.Repository + ")"
	}
	return q.Text
}

// within returns the numbers of the repositories of a query; none are all.
func (s *Server) within(ctx context.Context, q *query) ([]int64, error) {
	if q.Repository == "" {
		return nil, nil
	}
	r, err := s.repositoryNamed(ctx, q.Repository)
	if err != nil {
		return nil, err
	}
	return []int64{r.ID}, nil
}

// found is what a search found: what is named so, and what has words of it.
type found struct {
	Named []entry `json:"named"`
	Words []entry `json:"words"`
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	ask(s, w, r, "search", (*query).String, func(ctx context.Context, in *query) (any, error) {
		if err := bounded(in.Text, mostSearch, "search"); err != nil {
			return nil, err
		}
		repositories, err := s.within(ctx, in)
		if err != nil {
			return nil, err
		}
		named, err := s.named(ctx, in.Text, repositories)
		if err != nil {
			return nil, err
		}
		hits, err := s.content.Store.Search(ctx, knowledge.Query{Terms: words.Terms(in.Text), Repositories: repositories, Limit: mostFound})
		if err != nil {
			return nil, err
		}
		var others []knowledge.Decl
		for _, h := range hits {
			if !slices.ContainsFunc(named, func(d knowledge.Decl) bool { return d.ID == h.ID }) {
				others = append(others, h.Decl)
			}
		}
		list, err := s.entries(ctx, slices.Concat(named, others))
		if err != nil {
			return nil, err
		}
		return found{Named: list[:len(named)], Words: list[len(named):]}, nil
	})
}

// named returns what a text is the name of: "F", "(*T).M", "table.F", "example.com/m/table.(*T).M", "table.go".
func (s *Server) named(ctx context.Context, text string, repositories []int64) ([]knowledge.Decl, error) {
	decls, err := s.reader().Decls(ctx, text, repositories...)
	return decls[:min(len(decls), mostFound)], err
}

// entries are declarations with what they do, in their order.
func (s *Server) entries(ctx context.Context, decls []knowledge.Decl) ([]entry, error) {
	units, err := s.reader().Units(ctx, decls)
	if err != nil {
		return nil, err
	}
	_, about, err := s.does(ctx, units)
	if err != nil {
		return nil, err
	}
	of := map[int64]entry{}
	for _, u := range units {
		e := entryOf(u)
		e.Summary = about[u.ID]
		of[u.ID] = e
	}
	out := make([]entry, len(decls))
	for i := range decls {
		out[i] = of[decls[i].ID]
	}
	return out, nil
}

// bounded returns an error if a text is empty or too long.
func bounded(text string, most int, what string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &refusal{http.StatusUnprocessableEntity, "the " + what + " is empty"}
	case len(text) > most:
		return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the %s has %d bytes, and may have %d: leave out what says little", what, len(text), most)}
	}
	return nil
}

// located is where a report leads.
type located struct {
	Functions    []place  `json:"functions"`
	Files        []place  `json:"files"`
	Repositories []place  `json:"repositories"`
	Runs         []string `json:"runs,omitempty"`   // that executed the best functions
	Record       *record  `json:"record,omitempty"` // a test that does
	Notes        []string `json:"notes,omitempty"`
}

// place is a function, a file or a repository that may be meant.
type place struct {
	reference
	Title string  `json:"title"`
	Line  int     `json:"line,omitempty"`
	Score float64 `json:"score"`
	Why   string  `json:"why,omitempty"`
}

// record says which test to record.
type record struct {
	Line string `json:"line"`
	Why  string `json:"why"`
}

func (s *Server) locate(w http.ResponseWriter, r *http.Request) {
	ask(s, w, r, "locate", (*query).String, func(ctx context.Context, in *query) (any, error) {
		if err := bounded(in.Text, mostReport, "report"); err != nil {
			return nil, err
		}
		repositories, err := s.within(ctx, in)
		if err != nil {
			return nil, err
		}
		end, err := s.begin(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		a, err := locate.Locate(ctx, s.content.Store, locate.Question{Text: in.Text}, locate.Options{Limit: mostLocated, Repositories: repositories, Text: s.content.Text})
		if err != nil {
			return nil, err
		}
		s.content.Secrets.Located(a)
		return s.locatedIn(ctx, a)
	})
}

// begin waits until something may be done that takes a processor for a second, such as locating a report; nobody has two
// of these at once.
func (s *Server) begin(ctx context.Context) (end func(), err error) {
	who := guard.Name(ctx)
	s.mu.Lock()
	busy := s.asking[who]
	s.asking[who] = true
	s.mu.Unlock()
	if busy {
		return nil, &refusal{http.StatusTooManyRequests, "another question of yours is being answered: wait for it"}
	}
	leave := func() {
		s.mu.Lock()
		delete(s.asking, who)
		s.mu.Unlock()
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

func (s *Server) locatedIn(ctx context.Context, a *locate.Answer) (located, error) {
	out := located{Functions: []place{}, Files: []place{}, Repositories: []place{}}
	symbols := map[int64]string{} // a file may have several of a name
	var ids []int64
	for _, f := range a.Functions {
		ids = append(ids, f.ID)
	}
	decls, err := s.content.Store.Decls(ctx, ids)
	for i := range decls {
		symbols[decls[i].ID] = decls[i].Symbol()
	}
	for _, f := range a.Functions {
		out.Functions = append(out.Functions, place{reference{f.Repository, f.File, cmp.Or(symbols[f.ID], f.Name)}, f.Name, f.Line, f.Score, locate.Why(f.Reasons)})
	}
	for _, f := range a.Files {
		out.Files = append(out.Files, place{reference{f.Repository, f.File, ""}, f.File, 0, f.Score, strings.Join(f.Functions, ", ")})
	}
	for _, r := range a.Repositories[:min(len(a.Repositories), 3)] {
		out.Repositories = append(out.Repositories, place{reference{Repository: r.Name}, r.Name, 0, r.Score, locate.Why(r.Reasons)})
	}
	for i := range a.Runs[:min(len(a.Runs), mostTests)] {
		out.Runs = append(out.Runs, a.Runs[i].Title()+", trace "+a.Runs[i].Trace)
	}
	if a.Record != nil {
		out.Record = &record{a.Record.Line(a.Record.Dir), a.Record.Why} // who looks has another directory
	}
	if len(a.OldCalls) > 0 {
		out.Notes = append(out.Notes, "calls in the source of "+strings.Join(a.OldCalls, ", ")+" are those of an earlier state of the files")
	}
	return out, err
}
