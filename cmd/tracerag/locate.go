package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tracerag/locate"
	"tracerag/visible"
)

const locateHelp = `
locate lists the functions, files and repositories that a report is about, with reasons.
Nothing is run and no model is asked: the report is held against what "tracerag index"
keeps. That is brought up to date first, and made if it is missing.

  tracerag locate "panic when the table has no rows"
  go test ./... 2>&1 | tracerag locate -              stack traces and positions count most
  tracerag locate --trace @last "the border is cut"   what ran comes first

The first line of the report is its title. The last lines say which saved runs executed the
best functions, and which test to record to see the first one at work.`

func runLocate(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, locateHelp)
	limit := f.Int("limit", 10, "list this many `FUNCTIONS`, and as many files")
	in := f.String("in", "", "only in `PATTERN`: a file, a directory or an import path; x/... is all below x")
	trace := f.String("trace", "", "what `TRACE` executed comes first")
	test := f.String("test", "", "a `TEST` that shows it, ./pkg:TestX: its name and what it calls count")
	asJSON := f.Bool("json", false, "print the answer as JSON")
	var k knowledgeFlags
	k.add(f)
	var e embedFlags
	e.add(f, "also count vectors")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "want one report: put it in quotes, or - for standard input")
	}
	if *limit < 1 {
		return a.usage(c, fmt.Sprintf("--limit=%d: must be positive", *limit))
	}
	q := locate.Question{Text: f.Arg(0), In: *in, Test: *test}
	if i := strings.LastIndexByte(*test, ':'); i >= 0 {
		q.Package, q.Test = (*test)[:i], (*test)[i+1:]
	}
	if q.Text == "-" {
		data, err := io.ReadAll(a.stdin)
		if err != nil {
			return a.fail(fmt.Errorf("reading the report: %w", err))
		}
		q.Text = string(data)
	}
	if strings.TrimSpace(q.Text) == "" {
		return a.usage(c, "the report is empty: say what is wrong, or what to find")
	}
	// All of a log of megabytes takes a minute. What is quoted of it is masked by itself, too.
	const most = 256 << 10
	a.masker().LearnText(q.Text[:min(len(q.Text), most)])
	if rest := len(q.Text) - most; rest > 0 {
		a.masker().LearnText(q.Text[max(most, rest):])
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
	found, err := locate.Locate(ctx, s, q, locate.Options{Limit: *limit, Nearest: near})
	if err != nil {
		return a.fail(err)
	}
	a.masker().Located(found)
	if len(found.Stale) > 0 {
		a.complain("changed since they were indexed: %s", visible.Line(strings.Join(found.Stale, ", ")))
	}
	if *asJSON {
		err = a.printJSON(found)
	} else {
		err = found.Write(a.stdout, a.cwd)
		if err == nil && len(found.Functions) == 0 {
			a.note("nothing matches the report")
		}
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}
