package main

import (
	"context"
	"fmt"
	"slices"

	"tracerag/calltree"
)

const compareHelp = `
compare sets the call trees of two runs side by side: which calls were added,
removed, moved, or made another number of times, and where the runs first part.
Times, addresses and ids never count.

Exit code: 0 the runs are equal, 1 they differ, 2 an error.`

func runCompare(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, compareHelp)
	var t treeFlags
	asJSON := f.Bool("json", false, "print the difference as JSON")
	depth := f.Int("depth", 0, "show this many `LEVELS` only")
	nodes := f.Int("nodes", 0, "show this many `NODES` only, the upper levels first")
	brief := f.Bool("brief", false, "only the counts and the first divergence")
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	// Every error is 2 here: 1 says that the runs differ.
	failed := func(err error) int { a.fail(err); return exitUsage }
	if f.NArg() != 2 {
		return a.usage(c, fmt.Sprintf("two traces, not %d: tracerag compare @prev @last", f.NArg()))
	}
	s, err := a.store()
	if err != nil {
		return failed(err)
	}
	views, err := a.open(s, f.Args(), &t)
	if err != nil {
		return failed(err)
	}
	d := calltree.Compare(views[0].tree, views[1].tree)
	switch {
	case *asJSON:
		err = d.WriteJSON(a.stdout)
	default:
		for i, v := range views {
			fmt.Fprintf(a.stdout, "%c: %s  %s\n", 'a'+i, v.entry.ID, title(v.trace))
		}
		if *brief {
			err = d.WriteSummary(a.stdout)
			break
		}
		err = d.WriteText(a.stdout, calltree.View{Counts: true, Positions: true, Color: a.color(), Depth: *depth, MaxNodes: *nodes, File: views[1].file})
	}
	if err != nil {
		return failed(err)
	}
	if views[0].trace.Program.BuildID != views[1].trace.Program.BuildID {
		a.note("the runs are of different builds")
	}
	if ta, tb := views[0].trace, views[1].trace; !slices.Equal(ta.Include, tb.Include) || !slices.Equal(ta.Exclude, tb.Exclude) {
		a.note("of the runs different packages were recorded (--include, --exclude): not all that one lacks was not called")
	}
	if d.Equal() {
		return exitOK
	}
	return exitFailure
}
