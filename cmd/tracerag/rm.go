package main

import (
	"context"
	"slices"

	"tracerag/trace/store"
)

const rmHelp = `
rm removes traces and the conversations about them.`

func runRm(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, rmHelp)
	all := f.Bool("all", false, "remove every trace, and the baselines")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() == 0 && !*all || f.NArg() > 0 && *all {
		return a.usage(c, "name the traces, or --all")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	var entries []store.Entry
	if *all {
		if entries, err = s.List(); err != nil {
			return a.fail(err)
		}
		if err := removeAll(s.Baselines()); err != nil {
			return a.fail(err)
		}
	}
	// All are looked up before any is removed: @prev must not change its
	// meaning on the way.
	for _, name := range f.Args() {
		e, err := s.Find(name)
		if err != nil {
			return a.fail(err)
		}
		if !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	for _, e := range entries {
		if err := s.Remove(e); err != nil {
			return a.fail(err)
		}
		a.note("removed %s", e.ID)
	}
	return exitOK
}

func removeAll(s *store.Store) error {
	entries, err := s.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.Remove(e); err != nil {
			return err
		}
	}
	return nil
}
