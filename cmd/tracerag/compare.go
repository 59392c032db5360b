package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"tracerag/calltree"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/session"
	"tracerag/terminal"
	"tracerag/trace/target"
)

const compareHelp = `
compare compares the call trees of two runs: added, removed and moved calls, changed
counts, and where the runs diverge. Times, addresses, lines and ids never count.

  tracerag compare @prev @last
  tracerag compare @prev @last "why is the second table wider?"

It prints the callers below which the runs differ, the one that most likely matters
first: where much differs, or functions that only one run called, before start-up,
parsing of flags and looking for files; with a question, what is about it.

  main.main > ... 12 more ... > page.Render page/render.go:20 (and 2 more ways)
  - page.links x3     only a called it         > page.wrap moved from page.Render
  + page.hook         only b called it         ~ page.pad x2 -> x7      the calls of both
  ? lib.Escape        the other run could      =   page.width x: 3 -> 4   other values
                      not have recorded it

A function has moved if it was called once in each run. What a baseline leaves out of
both trees is left out, and counts are those of the whole runs. Arguments and results
that both runs observed (run --values) are compared call by call. They make the runs
different only with --values.

With --gate it records a command and compares the run with a reference: a trace, or a
file that --update writes, to be kept beside the tests. What the command prints goes
to standard error. The run's exit status counts, too.

  tracerag compare --gate testdata/border.pb.gz --update -- go test -run Border ./table
  tracerag compare --gate testdata/border.pb.gz -- go test -run Border ./table

--ignore leaves out what differs between runs of one program:

  counts       how often a call is made
  order        in which order a caller makes its calls (it ranges over a map, say)
  goroutines   goroutines and callbacks, with all that they call
  PACKAGES     functions of these packages, with all that they call: example.com/log/...

Exit code: 0 the runs are equal, 1 they differ, 2 an error.`

// compareFlags say how a difference is printed.
type compareFlags struct {
	json, brief  bool
	values       bool
	depth, nodes int
	ids          bool
	ignore       []string
}

// defaultNodes are some screens of a difference, the places that matter first.
const defaultNodes = 150

func runCompare(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, compareHelp)
	var o compareFlags
	var t treeFlags
	var g gateFlags
	f.BoolVar(&o.json, "json", false, "print the difference as JSON")
	f.IntVar(&o.depth, "depth", 0, "show this many `LEVELS` only")
	f.IntVar(&o.nodes, "nodes", 0, "show this many `NODES`, the places that matter first (default 150; -1: all)")
	f.BoolVar(&o.ids, "ids", false, "show the handles of tracerag tree: b's, and a's of what was removed")
	f.BoolVar(&o.brief, "brief", false, "only the counts and the first divergence")
	f.BoolVar(&o.values, "values", false, "different arguments and results make the runs different, too (see run --values)")
	f.StringSliceVar(&o.ignore, "ignore", nil, "leave `WHAT` out of account: counts, order, goroutines, PACKAGES")
	a.redactFlag(f)
	a.section(f, "A gate")
	g.add(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	failed := func(err error) int { a.fail(err); return exitUsage } // 1 says that the runs differ
	ignore, err := a.ignored(o.ignore)
	if err != nil {
		return a.usage(c, err.Error())
	}
	if f.Changed("gate") && o.values {
		return a.usage(c, "--gate compares calls: leave --values out")
	}
	if f.Changed("gate") {
		if f.NArg() == 0 {
			return a.usage(c, "--gate runs a command: tracerag compare --gate "+phrase.Quote(g.reference)+" -- go test -run X ./pkg")
		}
		code, err := a.gate(ctx, f.Args(), &g, &t, &o, ignore)
		if err != nil {
			return failed(err)
		}
		return code
	}
	for _, name := range []string{"update", "include", "exclude"} {
		if f.Changed(name) {
			return a.usage(c, "--"+name+" is for --gate")
		}
	}
	if n := f.NArg(); n < 2 || n > 3 {
		return a.usage(c, fmt.Sprintf("two traces, not %d: tracerag compare @prev @last \"what is different?\"", n))
	}
	for _, pattern := range t.focus {
		if strings.HasPrefix(pattern, "#") {
			return a.usage(c, "--"+(&session.HandleError{Handle: pattern}).Error())
		}
	}
	s, err := a.store()
	if err != nil {
		return failed(err)
	}
	views, look, err := a.openBoth(s, f.Args()[:2], &t)
	if err == nil && o.values {
		err = session.HaveValues(views)
	}
	if err != nil {
		return failed(err)
	}
	d := look.Compare(views[0], views[1], ignore, f.Arg(2))
	if err := a.printDiff(views, d, &o, func() error {
		return d.WriteText(a.stdout, a.diffView(views, &o))
	}); err != nil {
		return failed(err)
	}
	for i, v := range views {
		if err := v.Empty(); err != nil {
			a.note("%c: %s", 'a'+i, withWayOut(err))
		}
	}
	if views[0].Trace.Program.BuildID != views[1].Trace.Program.BuildID {
		a.note("the runs are of different builds")
	}
	a.notePackages(views)
	if d.Equal() && !(o.values && d.Values > 0) {
		return exitOK
	}
	return exitFailure
}

// printDiff prints a difference as JSON, in brief, or by text.
func (a *app) printDiff(views []*session.View, d *calltree.Diff, o *compareFlags, text func() error) (err error) {
	defer func() {
		if errors.Is(err, terminal.ErrLeft) {
			err = nil // the exit code tells anyway
		}
	}()
	if o.json {
		w, end := a.printed(output.JSON)
		return cmp.Or(d.WriteJSON(w), end())
	}
	for i, v := range views {
		fmt.Fprintf(a.stdout, "%c: %s  %s\n", 'a'+i, v.Entry.ID, v.Title())
		if note := v.PrunedNote(); note != "" {
			fmt.Fprintf(a.stdout, "   %s\n", note)
		}
	}
	if o.brief {
		return d.WriteSummary(a.stdout)
	}
	return text()
}

func (a *app) diffView(views []*session.View, o *compareFlags) calltree.View {
	v := calltree.View{Counts: true, Positions: true, IDs: o.ids, Compact: true, Color: a.colors(), Depth: o.depth, MaxNodes: cmp.Or(o.nodes, defaultNodes), File: views[1].File, Dependency: views[1].Dependency}
	v.Cut = func(nodes int, focus string) string {
		way := "--nodes=-1"
		if focus != "" {
			way = "--focus=" + phrase.Quote(focus)
		}
		return fmt.Sprintf("[%s: %s]", phrase.Plural(nodes, "more node", "more nodes"), way)
	}
	return v
}

func (a *app) notePackages(views []*session.View) {
	if !views[0].Trace.SamePackages(views[1].Trace) {
		a.note("%s", session.OtherPackages)
	}
}

// ignored is what --ignore leaves out.
func (a *app) ignored(words []string) (session.Ignored, error) {
	out, err := session.Ignore(words, func(pattern string) (func(string) bool, error) { return target.MatchPackages(pattern, a.cwd) })
	if err != nil {
		return out, fmt.Errorf("--%w", err)
	}
	return out, nil
}
