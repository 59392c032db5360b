package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"tracerag/output"
	"tracerag/phrase"
	"tracerag/prompt/tokens"
	"tracerag/session"
)

const rankHelp = `
rank lists the functions that ran, the most relevant to the question first, each with
reasons. No model is asked. --budget of run, ask and prompt keeps functions in this
order. The question may be a bug report: its first line is the title. Several traces
are ranked as one run, as --compare does.

The score considers words and names of the question in names, comments and bodies;
quoted error messages; the name of the test (go test -run, run --each); calls that
the baseline makes, too; and, if the run failed, calls that no passing run of the same
program made.`

func runRank(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, rankHelp)
	limit := f.Int("limit", 20, "list this many `FUNCTIONS`; 0 for all")
	asJSON := f.Bool("json", false, "print the list as JSON")
	var t treeFlags
	a.redactFlag(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() == 0 {
		return a.usage(c, "no question: put it in quotes")
	}
	if *limit < 0 {
		return a.usage(c, fmt.Sprintf("--limit=%d: want a number of functions, or 0 for all", *limit))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	go tokens.For("").Count(" ") // reading the vocabulary takes as long as reading the trace
	question, names := session.Operands(s, f.Args())
	if question == "-" {
		data, err := io.ReadAll(a.stdin)
		if err != nil {
			return a.fail(fmt.Errorf("reading the question: %w", err))
		}
		question = string(data)
	}
	a.masker().LearnText(question)
	views, err := a.open(s, names, &t)
	if err != nil {
		return a.fail(err)
	}
	for _, v := range views {
		if err := v.Empty(); err != nil {
			return a.fail(err)
		}
	}
	look := a.session(s)
	r := look.Rank(question, views)
	fs := r.Functions
	if *limit > 0 {
		fs = fs[:min(*limit, len(fs))]
	}
	if *asJSON {
		w, end := a.printed(output.JSON)
		err = cmp.Or(look.WriteRankingJSON(w, question, r, fs), end())
	} else {
		err = look.WriteRanking(a.stdout, fs)
		if err == nil && r.Nothing() {
			a.note("nothing that ran matches the question: this is the order of the first calls")
		}
		if n := len(r.Functions) - len(fs); n > 0 && err == nil {
			a.note("%s more: --limit=0 lists all", phrase.Plural(n, "function", "functions"))
		}
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}
