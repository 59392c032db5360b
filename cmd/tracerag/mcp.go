package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"tracerag/mcp"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/record"
	"tracerag/repair/job"
	"tracerag/terminal"
	"tracerag/trace/store"
	"tracerag/visible"
)

const mcpHelp = `
mcp serves the saved traces to a coding agent, over the Model Context Protocol on
standard input and output. The agent starts it:

  claude mcp add tracerag -- tracerag mcp
  codex mcp add tracerag -- tracerag mcp

Its tools are context, index, list_traces, call_tree, source, rank, prompt, compare,
values, record and try_change, and about the source, without a run: locate, unit, callers, callees,
tests_of and refresh. They read only traces of the store, .pb.gz files below the working
directory and indexed repositories, and mask secrets. record and try_change run programs,
only with --allow-run. See docs/mcp.md.`

func runMCP(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, mcpHelp)
	var t treeFlags
	allowRun := f.Bool("allow-run", false, "let the agent run programs, with your rights, to record them")
	var k knowledgeFlags
	k.add(f)
	f.StringArrayVar(&t.sourceDir, "source-dir", nil, "look for sources in `DIR`, too; may be repeated")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return a.usage(c, "unexpected argument: mcp takes only flags")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	if terminal.Is(a.stdin) {
		a.note("a coding agent starts this command and talks to it on standard input; Ctrl-C ends it")
	}
	look := a.session(s) // secrets have the same placeholders as long as the server runs
	if err := look.Mask.Err(); err != nil {
		return a.fail(err)
	}
	o := mcp.Options{Backend: mcp.Traces(look, t.options()), Dir: a.cwd, Mask: look.Mask.Text, Version: version(), WayOut: faceWayOut}
	o.Knowledge = a.sources(&k, s.Dir(), true)
	if *allowRun {
		self, err := innerCommand()
		if err != nil {
			return a.fail(err)
		}
		q := record.NewQueue(s, self)
		defer q.Close()
		o.Try = func(ctx context.Context, c mcp.Change) (*mcp.Tried, error) { return a.tryForAgent(ctx, c) }
		o.Record = func(ctx context.Context, c mcp.Command) (*mcp.Recorded, error) { return recordForAgent(ctx, q, s, c) }
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mcp.Serve(ctx, o, io.NopCloser(a.stdin), nopCloser{output.New(a.rawStdout(), output.Messages, a.knownSecrets)}); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// recordForAgent records a command, which the server has checked.
func recordForAgent(ctx context.Context, q *record.Queue, s *store.Store, c mcp.Command) (*mcp.Recorded, error) {
	spec := record.Spec{Command: c.Args, Dir: c.Dir, Store: s.Dir(), Values: record.Values{Patterns: c.Values}, Limit: c.Timeout}
	if len(c.Baseline) > 0 {
		spec.Baseline = phrase.CommandLine(c.Baseline)
	}
	var err error
	if spec.Caller, err = json.Marshal(passed{Quiet: true}); err != nil {
		return nil, err
	}
	rec, err := q.Record(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &mcp.Recorded{IDs: rec.Traces, Code: rec.Code, TimedOut: rec.TimedOut, Output: rec.Output, LeftOut: rec.LeftOut}, nil
}

// tryForAgent judges a change, which the server has checked.
func (a *app) tryForAgent(ctx context.Context, c mcp.Change) (*mcp.Tried, error) {
	var limits sandboxFlags
	limits.add(pflag.NewFlagSet("", pflag.ContinueOnError)) // its defaults
	r := &repairing{app: a, fixFlags: &fixFlags{limits: limits}, spec: job.Spec{Dir: c.Dir, Package: c.Package, Test: c.Test}}
	v, _, _, err := r.try(ctx, []byte(c.Text), nil)
	if err != nil {
		return nil, err
	}
	return &mcp.Tried{Accepted: v.Accepted, Stage: string(v.Stage), Text: visible.Text(v.String())}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
