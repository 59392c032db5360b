package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/summary"
	"tracerag/visible"
)

const locateHelp = `
locate lists the functions, files and repositories that a report is about, with reasons.
Nothing is run, and no model is asked but by --how: the report is held against what
"tracerag index" keeps. That is brought up to date first, and made if it is missing.

  tracerag locate "panic when the table has no rows"
  go test ./... 2>&1 | tracerag locate -              stack traces and positions count most
  tracerag locate --trace @last "the border is cut"   what ran comes first

The first line of the report is its title. The last lines say which saved runs executed the
best functions, and which test to record to see the first one at work.

--how has a model choose (docs/locating.md has what each takes):
  words      no model; the default
  rerank     one question about the best functions by words
  levels     repositories, packages, files, functions: a question each
  summaries  files by a line each, then by what their declarations do
  search     functions by rewards; then the model looks around from the best
The questions have names, signatures, comments and lines of your source, and with search
whole functions. Answers are kept: the same command asks nothing twice.`

func runLocate(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, locateHelp)
	limit := f.Int("limit", 10, "list this many `FUNCTIONS`, and as many files")
	in := f.String("in", "", "only in `PATTERN`: a file, a directory or an import path; x/... is all below x")
	trace := f.String("trace", "", "what `TRACE` executed comes first")
	test := f.String("test", "", "a `TEST` that shows it, ./pkg:TestX: its name and what it calls count")
	asJSON := f.Bool("json", false, "print the answer as JSON")
	var k knowledgeFlags
	k.add(f)
	var m meteredFlags
	e := embedFlags{server: &m.modelFlags}
	e.add(f, "also count vectors")
	a.redactFlag(f)
	a.section(f, "The model")
	var how string
	addChoice(f, &how, "how", "have a model choose: `HOW` is "+listed(guided.Names(), "or")+";\nwords asks none", guided.Names()...)
	search := guided.DefaultSearch
	f.IntVar(&search.Rewards, "rewards", search.Rewards, "--how=search asks what `N` functions are worth")
	f.DurationVar(&search.Time, "time", search.Time, "--how=search asks that for at most this `TIME`")
	f.IntVar(&search.Steps, "steps", search.Steps, "--how=search looks around in at most `N` steps")
	f.BoolVar(&search.Tree, "tree", false, "--how=search: a tree search chooses the functions, not words")
	summarise := f.Bool("summaries", false, "with --how=levels, summaries or schematic: have the model summarise the files that it\nreads, unless that is done")
	m.add(f)
	m.addTranscript(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "want one report: put it in quotes, or - for standard input")
	}
	if *limit < 1 {
		return a.usage(c, fmt.Sprintf("--limit=%d: must be positive", *limit))
	}
	if err := m.check(); err != nil {
		return a.usage(c, err.Error())
	}
	if min(search.Rewards, search.Steps) < 1 || search.Time <= 0 {
		return a.usage(c, "--rewards, --steps and --time must be positive")
	}
	if m.transcript != "" && how == string(guided.Words) {
		return a.usage(c, "--transcript writes what a model is asked, and --how=words asks none: add --how=rerank or another")
	}
	for _, name := range []string{"rewards", "time", "steps", "tree"} {
		if f.Changed(name) && how != string(guided.Search) {
			return a.usage(c, fmt.Sprintf("--%s is of a search: add --how=search", name))
		}
	}
	if *summarise && !slices.Contains([]string{string(guided.Levels), string(guided.Summaries), string(guided.Schematic)}, how) {
		return a.usage(c, "--summaries is for --how=levels, summaries or schematic, which read files by them")
	}
	q := locate.Question{Text: f.Arg(0), In: *in, Test: *test}
	if i := strings.LastIndexByte(*test, ':'); i >= 0 {
		q.Package, q.Test = (*test)[:i], (*test)[i+1:]
	}
	var err error
	if q.Text, err = a.bugReport(q.Text); err != nil {
		return a.fail(err)
	}
	if strings.TrimSpace(q.Text) == "" {
		return a.usage(c, "the report is empty: say what is wrong, or what to find")
	}
	traces, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	if *trace != "" {
		views, err := a.open(traces, []string{*trace}, &treeFlags{})
		if err != nil {
			return a.fail(err)
		}
		q.Ran = locate.FromRanking(a.session(traces).Rank(q.Text, views))
	}
	s, err := a.knowledge(ctx, &k, traces.Dir())
	if err != nil {
		return a.fail(err)
	}
	defer func() { _ = s.Close() }()
	near, err := a.nearest(s, &e)
	if err != nil {
		return a.fail(err)
	}
	g := &guided.Guide{Store: s, Options: locate.Options{Limit: *limit, Nearest: near}, Search: search, Secrets: a.masker()}
	found, failed := a.locateBy(ctx, s, g, &m, q, guided.How(how), *summarise)
	if found != nil {
		if err := a.printLocated(found, *asJSON); err != nil {
			return a.fail(err)
		}
	}
	if errors.Is(failed, context.Canceled) {
		a.complain("interrupted: what the model answered is kept, and the same command goes on from there")
		return exitInterrupted
	}
	if isA[*metered.TooLongError](failed) || isA[*metered.FormError](failed) {
		failed = fmt.Errorf("%w\n--how=words asks none", failed)
	}
	if failed != nil {
		return a.fail(failed)
	}
	return exitOK
}

// locateBy locates, with a model if how asks for one. With an error there may be what was found
// until then.
func (a *app) locateBy(ctx context.Context, s knowledge.Store, g *guided.Guide, m *meteredFlags, q locate.Question, how guided.How, summarise bool) (_ *guided.Answer, err error) {
	if how == guided.Words {
		return g.Locate(ctx, q, how)
	}
	model, end, err := a.told(m, s)
	if errors.Is(err, llm.ErrNotConfigured) {
		err = fmt.Errorf("--how=%s asks a model: %w\n--how=words asks none", how, err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, end()) }()
	g.Model = model
	g.Book = &summary.Book{Store: s, Kept: s, Model: g.Model.Name()}
	if summarise {
		if err := g.Model.Affordable("summarise files"); err != nil {
			return nil, err
		}
		g.Summarise = a.maker(s, g.Model, m).Files
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	done := a.wait("asking " + g.Model.Name())
	found, err := g.Locate(ctx, q, how)
	done()
	a.note("%s, %s: %s", g.Model.Name(), how, g.Model.Totals())
	return found, err
}

// printLocated prints an answer, and says what it lacks.
func (a *app) printLocated(found *guided.Answer, asJSON bool) error {
	a.masker().Located(found.Answer)
	if len(found.Stale) > 0 {
		a.complain("changed since they were indexed: %s", visible.Line(strings.Join(found.Stale, ", ")))
	}
	for _, n := range found.Notes {
		a.note("%s", visible.Line(n))
	}
	switch {
	case asJSON && found.How == guided.Words:
		return a.printJSON(found.Answer)
	case asJSON:
		return a.printJSON(found)
	}
	err := found.Text(a.stdout, a.cwd)
	if err == nil && len(found.Functions) == 0 {
		a.note("nothing matches the report")
	}
	return err
}
