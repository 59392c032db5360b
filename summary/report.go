package summary

import (
	"context"
	"fmt"
	"io"
	"slices"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/visible"
)

// Report says what was made of a repository, and what it took.
type Report struct {
	Repository string `json:"repository"`
	Model      string `json:"model"`
	Made       Made   `json:"made"`

	Questions int     `json:"questions"` // that were sent
	Tokens    int     `json:"tokens"`    // sent and answered
	Cost      float64 `json:"cost_usd"`  // 0 where no price is known

	Code      int `json:"code_tokens"`    // of the files
	Summaries int `json:"summary_tokens"` // of them
	// Anew is what it would take to make all of these again.
	Anew Estimate `json:"anew"`
}

// Task is what is to be made of a repository.
type Task struct {
	Repository knowledge.Repository
	Files      []knowledge.File
}

// NothingRanError says that a trace executed no file that is known.
type NothingRanError struct{ Trace string }

func (e *NothingRanError) Error() string {
	return fmt.Sprintf("trace %s executed no file of the repositories that are indexed", e.Trace)
}

// Tasks returns what is to be made of repositories, by name and in that order, with what all of it
// takes. With a trace's ID it is of what that executed.
func (k *Maker) Tasks(ctx context.Context, names []string, trace string) ([]Task, Estimate, error) {
	repositories, err := k.Book.Store.Repositories(ctx)
	if err != nil {
		return nil, Estimate{}, err
	}
	var tasks []Task
	var all Estimate
	files := 0
	for _, name := range names {
		i := slices.IndexFunc(repositories, func(r knowledge.Repository) bool { return r.Name == name })
		if i < 0 {
			return nil, all, fmt.Errorf("%s is not indexed", name)
		}
		t := Task{Repository: repositories[i]}
		if t.Files, err = Program(ctx, k.Book.Store, t.Repository.ID, trace); err != nil {
			return nil, all, err
		}
		e, err := k.Estimate(ctx, &t.Repository, t.Files, false)
		if err != nil {
			return nil, all, err
		}
		all.add(e)
		files += len(t.Files)
		tasks = append(tasks, t)
	}
	if trace != "" && files == 0 {
		return nil, all, &NothingRanError{trace}
	}
	return tasks, all, nil
}

// Repository makes what is lacking of some files of a repository, and of what is above them.
func (k *Maker) Repository(ctx context.Context, t *Task) (*Report, error) {
	r, files := &t.Repository, t.Files
	made, took := k.Made(), k.Model.Totals()
	err := k.Files(ctx, files)
	if err == nil {
		err = k.Above(ctx, r)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // and not how a question under way took it
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Line(r.Name), err)
	}
	now := k.Model.Totals()
	out := &Report{
		Repository: r.Name, Model: k.Model.Name(), Made: k.Made().without(made),
		Questions: now.Questions - took.Questions, Tokens: now.Prompt + now.Answered - took.Prompt - took.Answered, Cost: now.Cost - took.Cost,
	}
	if out.Code, out.Summaries, err = k.sizes(ctx, files); err != nil {
		return nil, err
	}
	out.Anew, err = k.Estimate(ctx, r, files, true)
	return out, err
}

func (m Made) without(o Made) Made {
	return Made{m.Decls - o.Decls, m.Files - o.Files, m.Packages - o.Packages, m.Repositories - o.Repositories, m.Substitutes - o.Substitutes, m.Changed - o.Changed}
}

// sizes counts the tokens of files and of their summaries, with the names that these are under.
func (k *Maker) sizes(ctx context.Context, files []knowledge.File) (text, summaries int, err error) {
	err = k.Book.each(ctx, files, whole, func(u *unit) error {
		text += k.Model.Count(string(u.text))
		summaries += k.Model.Count(u.Path + ": " + u.Line + "\n")
		for _, x := range items(u) {
			summaries += k.Model.Count(x.label + ": " + x.text + "\n")
		}
		return nil
	})
	return text, summaries, err
}

// share is by how many per cent a is smaller than b.
func share(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return 100 * (1 - float64(a)/float64(b))
}

// Useless reports whether everything that was made is from the code, as no reply was right.
func (r *Report) Useless() bool {
	m := r.Made // a package of one file has the file's summary
	return m.Substitutes > 0 && m.Substitutes >= m.Decls+m.Files
}

// Write writes the report for people: a few lines.
func (r *Report) Write(w io.Writer) error {
	text := fmt.Sprintf("%s  summaries by %s\n", visible.Line(r.Repository), visible.Line(r.Model))
	if r.Questions == 0 && r.Made == (Made{}) {
		text += "  nothing changed\n"
	} else {
		text += fmt.Sprintf("  %s, %s, %s and %s made", phrase.Plural(r.Made.Decls, "declaration", "declarations"), phrase.Plural(r.Made.Files, "file", "files"),
			phrase.Plural(r.Made.Packages, "package", "packages"), phrase.Plural(r.Made.Repositories, "repository", "repositories"))
		if n := r.Made.Substitutes; n > 0 {
			text += fmt.Sprintf("; %s from the code, as no reply was right", phrase.Plural(n, "summary is", "summaries are"))
		}
		if n := r.Made.Changed; n > 0 {
			text += fmt.Sprintf("; %s changed meanwhile: run index again", phrase.Plural(n, "file", "files"))
		}
		text += fmt.Sprintf("\n  asked: %s, %s", phrase.Plural(r.Questions, "question", "questions"), phrase.Plural(r.Tokens, "token", "tokens"))
		if r.Cost > 0 {
			text += fmt.Sprintf(", $%.4f", r.Cost)
		}
		text += "\n"
	}
	text += fmt.Sprintf("  everything again: %s, about %s", phrase.Plural(r.Anew.Questions, "question", "questions"), phrase.Plural(r.Anew.Tokens(), "token", "tokens"))
	if !r.Useless() {
		text += fmt.Sprintf("; this run took %.1f %% less", max(0, share(r.Tokens, r.Anew.Tokens())))
	}
	text += "\n"
	smaller, than := share(r.Summaries, r.Code), "smaller"
	if smaller < 0 { // of a few short functions
		smaller, than = -smaller, "larger"
	}
	text += fmt.Sprintf("  code: %s; summaries: %s, %.1f %% %s\n", phrase.Plural(r.Code, "token", "tokens"), phrase.Number(r.Summaries), smaller, than)
	_, err := io.WriteString(w, text)
	return err
}

// String says what making takes, for before it begins.
func (e Estimate) String() string {
	if e.Questions == 0 {
		return "nothing to ask: all summaries are there"
	}
	s := fmt.Sprintf("%s of %s and %s: about %s, %s tokens sent, %s answered", phrase.Plural(e.Made.Decls+e.Made.Files+e.Made.Packages+e.Made.Repositories, "summary", "summaries"),
		phrase.Plural(e.Made.Decls, "declaration", "declarations"), phrase.Plural(e.Made.Files, "file", "files"),
		phrase.Plural(e.Questions, "question", "questions"), phrase.Number(e.Prompt), phrase.Number(e.Answered))
	if e.Priced {
		s += fmt.Sprintf(", $%.2f", e.Cost)
	}
	return s
}

func (e *Estimate) add(o Estimate) {
	e.Questions += o.Questions
	e.Prompt += o.Prompt
	e.Answered += o.Answered
	e.Cost += o.Cost
	e.Priced = e.Priced || o.Priced
	m, n := &e.Made, o.Made
	*m = Made{m.Decls + n.Decls, m.Files + n.Files, m.Packages + n.Packages, m.Repositories + n.Repositories, m.Substitutes + n.Substitutes, m.Changed + n.Changed}
}
