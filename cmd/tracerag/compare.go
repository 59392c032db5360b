package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tracerag/calltree"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/session"
	"tracerag/terminal"
	"tracerag/trace/target"
)

const compareHelp = `
compare compares the call trees of two runs: added, removed and moved calls, changed
counts, and the first divergence. Times, addresses, lines and ids never count.
Arguments and results that both runs observed (run --values) are compared call by
call. The first difference is shown. It makes the runs different only with --values.

  tracerag compare @prev @last

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
	ignore       []string
}

func runCompare(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, compareHelp)
	var o compareFlags
	var t treeFlags
	var g gateFlags
	f.BoolVar(&o.json, "json", false, "print the difference as JSON")
	f.IntVar(&o.depth, "depth", 0, "show this many `LEVELS` only")
	f.IntVar(&o.nodes, "nodes", 0, "show this many `NODES` only, the upper levels first")
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
	// Every error is 2 here: 1 says that the runs differ.
	failed := func(err error) int { a.fail(err); return exitUsage }
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
	if f.NArg() != 2 {
		return a.usage(c, fmt.Sprintf("two traces, not %d: tracerag compare @prev @last", f.NArg()))
	}
	s, err := a.store()
	if err != nil {
		return failed(err)
	}
	views, err := a.open(s, f.Args(), &t)
	if err == nil && o.values {
		err = haveValues(views)
	}
	if err != nil {
		return failed(err)
	}
	d := session.Compare(views[0], views[1], ignore)
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

// haveValues reports a run of which no values are known: it would equal any other.
func haveValues(views []*session.View) error {
	for _, v := range views {
		if len(v.Trace.Activations) == 0 {
			return fmt.Errorf("trace %s has no arguments and results: record it with tracerag run --values", v.Entry.ID)
		}
	}
	return nil
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
	}
	if o.brief {
		return d.WriteSummary(a.stdout)
	}
	return text()
}

func (a *app) diffView(views []*session.View, o *compareFlags) calltree.View {
	return calltree.View{Counts: true, Positions: true, Color: a.colors(), Depth: o.depth, MaxNodes: o.nodes, File: views[1].File}
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
