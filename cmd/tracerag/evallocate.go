package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tracerag/eval/locating"
	"tracerag/eval/results"
	"tracerag/knowledge/index"
	"tracerag/llm/metered"
	"tracerag/locate/guided"
	"tracerag/phrase"
	"tracerag/visible"
)

const evalLocateHelp = `
eval locate measures how good locate is on reports of which you know what they are about.

  tracerag eval locate cases.yaml                          without a model
  tracerag eval locate --how=words,rerank --max-cost 2 cases.yaml
  tracerag eval locate --clones ~/clones corpus.jsonl      each case in its commit

FILE is a list of cases in YAML, or has a case in JSON on each line:
  - id: border
    report: the border of a table is cut
    functions: [(*Table).Border]      as locate prints them
    files: [table/table.go]
    repo: example/app                 with commit: located there, in a clone below --clones
    commit: 0123456789ab
A case without a commit is located in --repo. Nothing of a repository is run.

Functions, files and the localisation rate of Meta-RAG are counted, beside BM25 and BM25+.
Outcomes are kept in --results: the same command continues an interrupted one and asks
nothing twice (docs/locating.md).

Exit code: 0 everything was measured; 1 some was not; 2 wrong usage; 130 interrupted.`

// evalLocate is a subcommand of eval.
var evalLocate = &command{"eval locate", "[flags] FILE", "measure locate on reports of which you know what they are about", (*app).measureLocate}

func (a *app) measureLocate(ctx context.Context, c *command, args []string) int {
	f := a.flags(c, evalLocateHelp)
	var k knowledgeFlags
	var m meteredFlags
	var o locating.Options
	how := f.String("how", "words", "measure these `STRATEGIES` of locate: "+strings.Join(guided.Names(), ","))
	places := f.String("k", "1,3,5,10", "count what is among the first `K`")
	limit := f.Int("limit", 0, "only the first `N` cases (default: all)")
	f.StringArrayVar(&o.Trees, "repo", nil, "locate cases without a commit in the working tree `DIR` (default: the module around);\nmay be repeated")
	f.StringVar(&o.Clones, "clones", "", "the git clones of cases with a commit are below `DIR`, as OWNER/NAME")
	out := f.String("results", "", "keep outcomes and answers in `DIR` (default: located in the directory of traces)")
	asJSON := f.Bool("json", false, "print figures and outcomes as JSON")
	k.add(f)
	a.redactFlag(f)
	a.section(f, "The model")
	m.add(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "want one file of cases")
	}
	at, err := locating.Places(*places)
	if err != nil {
		return a.usage(c, "--k: "+err.Error())
	}
	if o.How, err = locating.Names(*how); err != nil {
		return a.usage(c, "--how: "+err.Error())
	}
	if err := m.check(); err != nil {
		return a.usage(c, err.Error())
	}
	if *limit < 0 {
		return a.usage(c, fmt.Sprintf("--limit=%d: must be positive", *limit))
	}
	if o.Cases, err = locating.Read(f.Arg(0)); err != nil {
		return a.fail(err)
	}
	if *limit > 0 {
		o.Cases = o.Cases[:min(*limit, len(o.Cases))]
	}
	report, err := a.located(ctx, &o, &k, &m, *out)
	if errors.Is(err, context.Canceled) {
		a.complain("interrupted: what was measured is kept, and the same command goes on from there")
		return exitInterrupted
	}
	if err != nil {
		return a.fail(err)
	}
	report.Count(at)
	if *asJSON {
		err = a.printJSON(report)
	} else {
		err = report.Write(a.stdout)
	}
	if err != nil {
		return a.fail(err)
	}
	if n := len(report.Open); n > 0 {
		a.complain("%s not measured, the first (%s by %s): %s\n  the same command again goes on with what is left", phrase.Plural(n, "outcome was", "outcomes were"),
			visible.Line(report.Open[0].Case), report.Open[0].How, visible.Line(report.Open[0].Why))
		return exitFailure
	}
	return exitOK
}

func (a *app) located(ctx context.Context, o *locating.Options, k *knowledgeFlags, m *meteredFlags, out string) (*locating.Report, error) {
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	if o.Knowledge, err = a.place(k, s.Dir()); err != nil {
		return nil, err
	}
	o.Version, o.Calls, o.Secrets = buildInfo(), index.CallsWithin(mostCalls), a.masker()
	if root := a.moduleRoot(); len(o.Trees) == 0 && isProject(root) {
		o.Trees = []string{root}
	}
	for _, c := range o.Cases {
		a.masker().LearnText(c.Report)
	}
	o.Model = func(keep metered.Keeper, tell func(metered.Exchange), spent float64) (*metered.Model, error) {
		m.limits.Spent = spent
		model, err := a.metered(m, keep, a.masker().Text, tell)
		if err != nil {
			return nil, fmt.Errorf("%w\n--how=words asks none", err)
		}
		return model, model.Affordable("")
	}
	out = a.absolute(cmp.Or(out, filepath.Join(s.Dir(), "located")))
	if o.Results, err = results.Open(out, func() { a.note("another tracerag works in %s: waiting for it", out) }); err != nil {
		return nil, err
	}
	defer o.Results.Close()
	ctx, stop := interruptible(ctx)
	defer stop()
	bar := a.progress("cases")
	defer bar.Close()
	o.Progress = bar.Set
	return locating.Run(ctx, *o)
}
