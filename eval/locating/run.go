package locating

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/eval/results"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sqlite"
	"tracerag/knowledge/stores"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/summary"
)

// deep is how far down an order is judged.
const deep = 1000

// Options say what is measured.
type Options struct {
	Cases []*Case
	How   []guided.How // besides the baselines
	// Trees are the working trees in which cases without a commit are located.
	Trees []string
	// Knowledge is the store that the trees are kept in. Its summaries are used for commits, too.
	Knowledge *stores.Place
	Clones    string          // directory of the clones of cases with a commit; "" is none
	Calls     index.CallsFunc // of working trees; nil leaves them as they are. Commits have none.
	Results   *results.Dir
	Version   string // of the program that measures: outcomes of another one do not count
	// Model makes the model that is asked, if a strategy asks one. spent is what earlier runs have cost.
	Model    func(keep metered.Keeper, tell func(metered.Exchange), spent float64) (*metered.Model, error)
	Secrets  guided.Secrets      // nil hides none
	Progress func(done, all int) // cases; nil: nobody
}

// NoTreeError says that a case has no commit, and that no working tree is known.
type NoTreeError struct{ Case string }

func (e *NoTreeError) Error() string {
	return fmt.Sprintf("case %s has no commit, and no working tree to locate it in is known", e.Case)
}

// NoClonesError says that a case has a commit, and that the directory of clones is not known.
type NoClonesError struct{ Case, Repo string }

func (e *NoClonesError) Error() string {
	return fmt.Sprintf("case %s is about a commit of %s, and the directory of the clones is not known", e.Case, e.Repo)
}

// Open is a measurement that came to no outcome.
type Open struct {
	Case string     `json:"case"`
	How  guided.How `json:"how"`
	Why  string     `json:"why"`
}

// runner carries a measurement out.
type runner struct {
	Options
	keep    keeper
	known   knowledge.Store // of the trees
	state   string          // of the trees
	texts   *texts          // of the trees
	model   *metered.Model
	spent   float64
	asked   Outcome // what the case under way took of the model
	stopped error   // why no model is asked any more
}

// Run measures. What could not be measured is in the report; the error is for what ends the run.
// After an interruption there is no report, and what was measured is kept.
func Run(ctx context.Context, o Options) (*Report, error) {
	for _, h := range o.How {
		if !slices.Contains(guided.All(), h) {
			return nil, &guided.UnknownError{How: h}
		}
	}
	for _, c := range o.Cases { // before anything is written or asked
		switch {
		case c.Commit == "" && len(o.Trees) == 0:
			return nil, &NoTreeError{c.ID}
		case c.Commit != "" && o.Clones == "":
			return nil, &NoClonesError{c.ID, c.Repo}
		case c.Commit != "":
			if _, err := index.FindClone(o.Clones, c.Repo); err != nil {
				return nil, fmt.Errorf("case %s: %w", c.ID, err)
			}
		}
	}
	r := &runner{Options: o, keep: keeper{o.Results}}
	if err := os.RemoveAll(o.Results.Path(commits)); err != nil {
		return nil, err
	}
	if err := os.Mkdir(o.Results.Path(commits), 0o700); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(o.Results.Path(commits)) }()
	answers, err := sqlite.Open(ctx, o.Results.Path("knowledge.db")) // a store for answers alone
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Close() }()
	if r.spent, err = r.keep.spent(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(o.How, func(h guided.How) bool { return h != guided.Words }) {
		if r.model, err = o.Model(answers, r.tell, r.spent); err != nil {
			return nil, err
		}
	}
	if err := r.openTrees(ctx); err != nil {
		return nil, err
	}
	if r.known != nil {
		defer func() { _ = r.known.Close() }()
	}
	report := &Report{Schema: "tracerag.evallocate/1", Cases: len(o.Cases), Outcomes: []Outcome{}, Open: []Open{}}
	if r.model != nil {
		report.Model = r.model.Name()
	}
	for i, c := range o.Cases {
		if err := r.measure(ctx, c, report); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(i+1, len(o.Cases))
		}
	}
	return report, nil
}

// openTrees brings the index of the working trees up to date.
func (r *runner) openTrees(ctx context.Context) (err error) {
	if !slices.ContainsFunc(r.Cases, func(c *Case) bool { return c.Commit == "" }) {
		if r.Knowledge != nil && r.Knowledge.Exists() {
			r.known, err = r.Knowledge.Open(ctx) // for its summaries
			return err
		}
		return nil
	}
	if r.known, err = r.Knowledge.Open(ctx); err != nil {
		return err
	}
	for _, dir := range r.Trees {
		if _, err := index.Update(ctx, r.known, dir, index.Options{Calls: r.Calls}); err != nil {
			return fmt.Errorf("indexing %s: %w", dir, err)
		}
	}
	list, err := r.known.Repositories(ctx)
	for _, k := range list {
		r.state += fmt.Sprintf("%s\x00%s\x00%s\x00%d\n", k.Name, k.Root, k.Snapshot, k.Calls)
	}
	return err
}

// tell adds up what the case under way took, also what was answered earlier.
func (r *runner) tell(x metered.Exchange) {
	r.asked.Questions++
	r.asked.Prompt += x.Prompt
	r.asked.Answered += x.Answered
	r.asked.Cost += x.Cost
}

// measure adds the outcomes of a case.
func (r *runner) measure(ctx context.Context, c *Case, report *Report) error {
	var at *source
	defer func() {
		if at != nil {
			at.close()
		}
	}()
	for _, how := range append(Baselines(), r.How...) {
		model, state := "", r.state
		if how != guided.Words && slices.Contains(r.How, how) {
			model = r.model.Name()
		}
		if c.Commit != "" {
			state = ""
		}
		id := key(c, how, model, state, r.Version)
		o, err := r.keep.outcome(id)
		if err != nil {
			return err
		}
		if o != nil {
			report.Outcomes = append(report.Outcomes, *o)
			continue
		}
		if model != "" && r.stopped != nil {
			report.Open = append(report.Open, Open{c.ID, how, r.stopped.Error()})
			continue
		}
		if at == nil {
			if at, err = r.open(ctx, c); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if missing, ok := errors.AsType[*index.NoCommitError](err); ok {
					report.Open = append(report.Open, Open{c.ID, how, missing.Error() + ": git fetch may bring it"})
					continue
				}
				return fmt.Errorf("case %s: %w", c.ID, err)
			}
		}
		o, err = r.locate(ctx, c, how, at)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.stop(err)
			report.Open = append(report.Open, Open{c.ID, how, err.Error()})
			continue
		}
		o.Model, o.Missing = model, at.texts.missing(c)
		if err := r.keep.save(id, o); err != nil {
			return err
		}
		report.Outcomes = append(report.Outcomes, *o)
	}
	return nil
}

// stop asks the model nothing more after an error that the next question would have, too.
func (r *runner) stop(err error) {
	_, final := errors.AsType[*throttle.FinalError](err)
	_, stop := errors.AsType[*throttle.StopError](err)
	if final || stop || errors.Is(err, throttle.ErrCeiling) {
		r.stopped = err
	}
}

// source is where a case is located.
type source struct {
	store knowledge.Store
	kept  knowledge.Summaries
	texts *texts // once they are read
	close func()
}

// commits is the directory of results in which commits are written out. Who works there is alone,
// so what is in it at the beginning was left by a process that was killed.
const commits = "commits"

// open opens the source of a case: the working trees, or a commit in a directory of its own.
func (r *runner) open(ctx context.Context, c *Case) (_ *source, err error) {
	if c.Commit == "" {
		if r.texts == nil {
			if r.texts, err = readTexts(ctx, r.known); err != nil {
				return nil, err
			}
		}
		return &source{r.known, r.known, r.texts, func() {}}, nil
	}
	clone, err := index.FindClone(r.Clones, c.Repo)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(r.Results.Path(commits), "")
	if err != nil {
		return nil, err
	}
	s := &source{close: func() { _ = os.RemoveAll(temp) }}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	tree := filepath.Join(temp, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return nil, err
	}
	if err := index.WriteCommit(ctx, clone, c.Commit, tree); err != nil {
		return nil, err
	}
	if s.store, err = sqlite.Open(ctx, filepath.Join(temp, "knowledge.db")); err != nil {
		return nil, err
	}
	remove := s.close
	s.close = func() {
		_ = s.store.Close()
		remove()
	}
	if _, err := index.Update(ctx, s.store, tree, index.Options{Name: path.Base(c.Repo)}); err != nil {
		return nil, err
	}
	s.kept = s.store
	if r.known != nil { // equal units have one summary
		s.kept = r.known
	}
	s.texts, err = readTexts(ctx, s.store)
	return s, err
}

// locate measures one strategy.
func (r *runner) locate(ctx context.Context, c *Case, how guided.How, at *source) (*Outcome, error) {
	for _, b := range baselines {
		if b.how == how {
			began := time.Now()
			o := at.texts.rank(c.Report, b.score, b.files)
			return r.outcome(c, how, &o, began), nil
		}
	}
	g := guided.Guide{Store: at.store, Options: locate.Options{Limit: deep}, Secrets: r.Secrets}
	if how != guided.Words {
		g.Model = r.model
		g.Book = &summary.Book{Store: at.store, Kept: at.kept, Model: r.model.Name()}
		r.asked = Outcome{}
	}
	began := time.Now()
	a, err := g.Locate(ctx, locate.Question{Text: c.Report}, how)
	if how != guided.Words {
		// What a failed case took is spent, too.
		if kept := r.keep.saveSpent(r.spent + r.model.Totals().Cost); err == nil {
			err = kept
		}
	}
	if err != nil {
		return nil, err
	}
	out := r.outcome(c, how, orderOf(a), began)
	out.Notes = a.Notes
	if how != guided.Words {
		out.Questions, out.Prompt, out.Answered, out.Cost = r.asked.Questions, r.asked.Prompt, r.asked.Answered, r.asked.Cost
	}
	return out, nil
}

func (r *runner) outcome(c *Case, how guided.How, o *order, began time.Time) *Outcome {
	out := judge(c, o)
	out.How, out.Seconds = how, time.Since(began).Seconds()
	return &out
}

// Names reads strategies as a user writes them, separated by commas.
func Names(list string) (how []guided.How, err error) {
	for name := range strings.SplitSeq(list, ",") {
		h := guided.How(strings.TrimSpace(name))
		if !slices.Contains(guided.All(), h) {
			return nil, &guided.UnknownError{How: h}
		}
		if slices.Contains(how, h) {
			return nil, fmt.Errorf("strategy %q is named twice", h)
		}
		how = append(how, h)
	}
	return how, nil
}
