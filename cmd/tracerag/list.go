package main

import (
	"context"
	"fmt"

	"tracerag/phrase"
	"tracerag/session"
)

const listHelp = `
list lists the saved traces, the oldest first, with the names that other commands
take: an id, or @last, @prev, or a name of its own (a test's, a window's). It shows
the newest 30, with --json all.`

// mostListed is how many traces people look through.
const mostListed = 30

func runList(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, listHelp)
	limit := f.Int("limit", mostListed, "list the newest `TRACES`, this many; 0 for all")
	asJSON := f.Bool("json", false, "print the list as JSON")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return a.usage(c, "unexpected argument: list takes only flags; tracerag show describes one trace")
	}
	if *limit < 0 {
		return a.usage(c, fmt.Sprintf("--limit=%d: want a number of traces, or 0 for all", *limit))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	entries, err := s.List()
	if err != nil {
		return a.fail(err)
	}
	older := 0
	if *limit > 0 && (f.Changed("limit") || !*asJSON) { // to list one its file is read
		older = max(0, len(entries)-*limit)
		entries = entries[older:]
	}
	if err := a.masker().Err(); err != nil { // which is no fault of any trace
		return a.fail(err)
	}
	read := a.wait("reading " + phrase.Plural(len(entries), "trace", "traces"))
	look := a.session(s)
	list := make([]session.Summary, 0, len(entries))
	for _, e := range entries {
		sum := look.List(e)
		if out := faceWayOut(sum.Err); out != "" {
			sum.Error += ": " + out
		}
		list = append(list, sum)
	}
	read()
	if *asJSON {
		if err := a.printJSON(list); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	if len(list) == 0 {
		a.note("no traces in %s: tracerag run -- ./app makes one", s.Dir())
		return exitOK
	}
	if err := session.WriteList(a.stdout, list); err != nil {
		return a.fail(err)
	}
	if older > 0 {
		a.note("%s: tracerag list%s --limit=0 lists all, tracerag rm%[2]s --keep=%d removes them", phrase.Plural(older, "older trace", "older traces"), a.dirFlag(), len(list))
	}
	return exitOK
}
