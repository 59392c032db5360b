package main

import (
	"context"
	"io"

	"tracerag/output"
	"tracerag/terminal"
	"tracerag/viewer"
)

const reportHelp = `
report writes the page that view shows into one file, for an issue or a pull request:
call tree, sources, graph and prompt, of one trace or of two side by side. It contains
source code of the program. It loads nothing and sends nothing.`

func runReport(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, reportHelp)
	var t treeFlags
	var p promptFlags
	out := f.StringP("output", "o", "-", "write to `FILE`")
	question := f.StringP("ask", "q", "", "put this `QUESTION` into the prompt")
	a.redactFlag(f)
	limit := f.Int("max-size", viewer.DefaultReportSize>>20, "write at most this many `MIB` of data, and report what is left out")
	a.section(f, "The prompt")
	p.addModel(f)
	p.add(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	switch {
	case f.NArg() > 2:
		return a.usage(c, "one trace, or two to compare")
	case *limit < 1:
		return a.usage(c, "--max-size must be at least 1")
	case *out == "-" && terminal.Is(a.stdout):
		return a.usage(c, "standard output is a terminal: write the report to a file with -o run.html, or pipe it")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	page, err := a.page(s, f.Args(), &t, &p, *question, nil, nil)
	if err != nil {
		return a.fail(err)
	}
	var omitted []string
	err = a.writeTo(*out, output.Page, func(w io.Writer) (err error) {
		omitted, err = page.WriteReport(w, *limit<<20)
		return err
	})
	if err != nil {
		return a.fail(err)
	}
	a.noteMasked()
	for _, o := range omitted {
		a.note("left out by the size limit (--max-size): %s", o)
	}
	return exitOK
}
