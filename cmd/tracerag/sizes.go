package main

import (
	"context"
	"strings"

	"tracerag/prompt"
	"tracerag/session"
)

const sizesHelp = `
sizes measures prompts as the paper's tables 8 and 9 do: the tokens of each variant,
and how many files and lines the called functions come from, against the lines of
the full prompt and of the whole source of the program with all its modules.

Each operand is a trace, or two traces joined by a comma: a prompt that compares
them. Without operands it is the last trace.

  make tables     the paper's four prompts, on fixtures/tablecat`

func runSizes(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, sizesHelp)
	var t treeFlags
	var p promptFlags
	p.addModel(f)
	asJSON := f.Bool("json", false, "print the figures as JSON")
	a.redactFlag(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	operands := f.Args()
	if len(operands) == 0 {
		operands = []string{"@last"}
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	o, err := a.promptOptions(&p)
	if err != nil {
		return a.fail(err)
	}
	var all [][]*session.View
	for _, op := range operands {
		views, err := a.open(s, strings.SplitN(op, ",", 2), &t)
		if err != nil {
			return a.fail(err)
		}
		all = append(all, views)
	}
	rows, missing, err := a.session(s).Sizes(all, o.TokenCounter())
	if err != nil {
		return a.fail(err)
	}
	for _, m := range missing {
		a.note("not counted: its source is not on this machine: %s", m)
	}
	if *asJSON {
		err = a.printJSON(rows)
	} else {
		err = prompt.WriteTables(a.stdout, rows)
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}
