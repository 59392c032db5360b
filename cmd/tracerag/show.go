package main

import (
	"context"
)

const showHelp = `
show describes a trace: the program and its build, how the run ended, what was
recorded, and what was not.`

func runShow(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, showHelp)
	asJSON := f.Bool("json", false, "print it as JSON")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	name := "@last"
	switch f.NArg() {
	case 0:
	case 1:
		name = f.Arg(0)
	default:
		return a.usage(c, "one trace at a time")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	sum, err := a.session(s).Summarize(name)
	if err != nil {
		return a.fail(err)
	}
	if *asJSON {
		if err := a.printJSON(sum); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	if err := sum.WriteText(a.stdout, ": tracerag show --json"); err != nil {
		return a.fail(err)
	}
	return exitOK
}
