package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tracerag/trace/store"
)

const rmHelp = `
rm removes traces and the conversations about them, and with a run the traces of
the processes that it started.

  tracerag rm @last
  tracerag rm --older-than=30d            saved more than 30 days ago
  tracerag rm --keep=20                   all but the newest 20
  tracerag rm --older-than=2w --keep=20   those that are both

The baselines stay; --all removes them, too. A trace that a gate names as its reference
on a command line is removed like any other: keep references as files.`

func runRm(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, rmHelp)
	all := f.Bool("all", false, "remove every trace, and the baselines")
	age := f.String("older-than", "", "remove the traces that were saved longer than this `TIME` ago: 30d, 2w, 36h")
	keep := f.Int("keep", 0, "remove all but the newest `TRACES`, this many")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	ways := 0
	for _, way := range []bool{f.NArg() > 0, *all, *age != "" || f.Changed("keep")} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		return a.usage(c, "name the traces, or give --older-than, --keep or --all")
	}
	if f.Changed("keep") && *keep < 1 {
		return a.usage(c, fmt.Sprintf("--keep=%d: must be at least 1 (--all removes every trace)", *keep))
	}
	var before time.Time
	if f.Changed("older-than") {
		d, err := store.ParseAge(*age)
		if err != nil {
			return a.usage(c, "--older-than: "+err.Error())
		}
		before = time.Now().Add(-d)
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	var entries []store.Entry
	if f.NArg() == 0 {
		if entries, err = s.List(); err != nil {
			return a.fail(err)
		}
		entries = store.Old(entries, before, *keep)
	}
	if *all {
		if err := cmp.Or(s.Baselines().RemoveAll(), s.Processes().RemoveAll()); err != nil {
			return a.fail(err)
		}
	}
	named, err := s.FindAll(f.Args())
	if err != nil {
		return a.fail(err)
	}
	entries = append(entries, named...)
	if err := s.RemoveRuns(entries, func(e store.Entry) { a.note("removed %s", e.ID) }); err != nil {
		return a.fail(err)
	}
	if len(entries) == 0 && !*all {
		a.note("no trace to remove in %s", s.Dir())
	}
	return exitOK
}
