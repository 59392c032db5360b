package guided

import (
	"context"
	"errors"
	"fmt"

	"tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/llm/metered"
	"tracerag/locate"
	"tracerag/rank"
	"tracerag/summary"
)

// task is one question on its way to an answer. It is for one goroutine.
type task struct {
	*Guide
	ctx   context.Context
	how   How
	q     locate.Question
	found *locate.Found
	repos []knowledge.Repository // the likeliest first
	scope []knowledge.Repository // those that were looked into
	terms map[string]bool        // of the question
	split words.Splitter

	packages map[int64][]summary.Package // of repositories that were read

	notes []string
	ways  map[int64][]Step // to declarations
}

// begin looks for candidates by words.
func (g *Guide) begin(ctx context.Context, q locate.Question, how How) (*task, error) {
	t := &task{Guide: new(Guide), ctx: ctx, how: how, q: q, ways: map[int64][]Step{}, packages: map[int64][]summary.Package{}, terms: map[string]bool{}}
	*t.Guide = *g
	if t.Options.Text == nil {
		t.Options.Text = lookup.ReadTree
	}
	book := summary.Book{Store: g.Store}
	if g.Book != nil {
		book = *g.Book
	}
	if book.Read == nil {
		book.Read = t.Options.Text
	}
	if t.Secrets != nil && how != Words {
		t.Options.Text = t.learning(t.Options.Text)
		book.Learn, book.Mask = t.Secrets.LearnTexts, t.Secrets.Clean
	}
	t.Book = &book
	terms, _ := rank.Terms(rank.Question{Text: middleCut(q.Text, 8*mostReport)}, rank.Default)
	for _, term := range terms {
		t.terms[term] = true
	}
	return t, t.lookInto(g.Options.Repositories)
}

// learning reads a file, and has its secrets learned: by its own words a literal may not look like
// one.
func (t *task) learning(read func(*knowledge.Repository, string) ([]byte, error)) func(*knowledge.Repository, string) ([]byte, error) {
	return func(r *knowledge.Repository, path string) ([]byte, error) {
		text, err := read(r, path)
		if err == nil {
			t.Secrets.LearnTexts([]string{string(text)})
		}
		return text, err
	}
}

// lookInto looks for candidates by words in some repositories.
func (t *task) lookInto(repositories []int64) error {
	o := t.Options
	o.Repositories = repositories
	f, err := locate.Find(t.ctx, t.Store, t.q, o)
	if err != nil {
		return err
	}
	t.found = f
	repos, n := f.Repositories()
	t.repos, t.scope = repos, repos[:n]
	if t.Secrets == nil || t.how == Words {
		return nil
	}
	a, err := f.Answer(locate.Order{})
	if err == nil {
		t.Secrets.Located(a)
	}
	return err
}

// end makes the answer. With an error it has what was found until then.
func (t *task) end(o locate.Order, failed error) (*Answer, error) {
	found, err := t.found.Answer(o)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	a := &Answer{Answer: found, How: t.how, Notes: t.notes}
	if t.Model != nil {
		a.Totals = t.Model.Totals()
	}
	if len(t.ways) > 0 {
		for _, f := range found.Functions {
			a.Ways = append(a.Ways, t.ways[f.ID])
		}
	}
	return a, failed
}

// note says once what was left out.
func (t *task) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// chosen is a function that the model put at a place, from 1. The weight only shows the order.
func chosen(d knowledge.Decl, place int, why string) locate.Chosen {
	if why == "" {
		why = fmt.Sprintf("number %d", place)
	}
	return locate.Chosen{Decl: d, Reason: rank.Reason{Kind: locate.Model, Weight: 1 / float64(place), What: why}}
}

// formless reports whether an error is a reply in no form. Words take the model's place there,
// and a note says so.
func (t *task) formless(err error) bool {
	wrong, ok := errors.AsType[*metered.FormError](err)
	if ok {
		t.note("%v: words chose instead", wrong)
	}
	return ok
}

// matches counts the different words of the report in a line.
func (t *task) matches(line string) int {
	seen := map[string]bool{}
	words.Each(line, func(w string) {
		for _, term := range t.split.Of(w) {
			if t.terms[term] {
				seen[term] = true
			}
		}
	})
	return len(seen)
}

// repository returns a repository by its number.
func (t *task) repository(id int64) *knowledge.Repository {
	for i := range t.repos {
		if t.repos[i].ID == id {
			return &t.repos[i]
		}
	}
	return &knowledge.Repository{ID: id}
}

// place names a path as a list shows it: with its repository if there are several.
func (t *task) place(repository int64, path string) string {
	if len(t.repos) > 1 {
		return t.repository(repository).Name + ":" + path
	}
	return path
}

// summarise makes the summaries of files that are read next.
func (t *task) summarise(files []knowledge.File) error {
	if t.Summarise == nil {
		return nil
	}
	return t.Summarise(t.ctx, files)
}
