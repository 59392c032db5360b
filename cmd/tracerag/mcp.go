package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"tracerag/mcp"
	"tracerag/output"
	"tracerag/prompt"
	"tracerag/rank"
	"tracerag/session"
	"tracerag/trace/store"
)

const mcpHelp = `
mcp serves the saved traces to a coding agent, over the Model Context Protocol on
standard input and output. The agent starts it:

  claude mcp add tracerag -- tracerag mcp
  codex mcp add tracerag -- tracerag mcp

Its tools are list_traces, call_tree, source, rank, prompt, compare, values and
record. They read only traces of the store and .pb.gz files below the working
directory, and mask secrets. record runs programs, only with --allow-run. See
docs/mcp.md.`

func runMCP(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, mcpHelp)
	var t treeFlags
	allowRun := f.Bool("allow-run", false, "let the agent run programs, with your rights, to record them")
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
	if terminal(a.stdin) {
		a.note("a coding agent starts this command and talks to it on standard input; Ctrl-C ends it")
	}
	// The same placeholders as long as the server runs.
	b := &mcpBackend{app: a, look: session.Session{Store: s, Mask: a.masker(), Warn: a.warn}, tree: t.options()}
	if err := b.look.Mask.Err(); err != nil {
		return a.fail(err)
	}
	o := mcp.Options{Backend: b, Dir: a.cwd, Mask: b.look.Mask.Text, Version: version()}
	if *allowRun {
		r := newCommandRecorder(s)
		defer r.close()
		o.Record = r.record
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mcp.Serve(ctx, o, io.NopCloser(a.stdin), nopCloser{output.New(a.rawStdout(), output.Messages, a.knownSecrets)}); err != nil {
		return a.fail(err)
	}
	return exitOK
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// mcpBackend opens traces for an agent.
type mcpBackend struct {
	app  *app
	look session.Session
	tree session.TreeOptions

	mu   sync.Mutex
	kept []keptView // the one used last at the end
}

// keptView is a view that was opened: an agent asks ten times about one trace, and a
// large one takes a second to open.
type keptView struct {
	key  string
	view *mcp.View
}

const (
	keptViews = 4
	keptNodes = 1_000_000 // of all together, but for the one that was opened last
)

func (b *mcpBackend) keptNodes() (n int) {
	for _, k := range b.kept {
		for _, r := range k.view.Runs {
			n += len(r.Trace.Nodes)
		}
	}
	return n
}

// List implements mcp.Backend.
func (b *mcpBackend) List() (int, iter.Seq[mcp.Listed], error) {
	entries, err := b.look.Store.List()
	if err != nil {
		return 0, nil, err
	}
	return len(entries), func(yield func(mcp.Listed) bool) {
		for _, e := range slices.Backward(entries) {
			sum := b.look.List(e)
			l := mcp.Listed{ID: sum.ID, Name: sum.Name, Saved: sum.Saved, Title: sum.Title, Calls: sum.Calls, Functions: sum.Functions, Error: sum.Error}
			switch {
			case sum.Error != "":
			case sum.Exit != nil:
				l.Exit = sum.Exit.String()
			default:
				l.Exit = "samples, not calls"
			}
			if !yield(l) {
				return
			}
		}
	}, nil
}

// Open implements mcp.Backend.
func (b *mcpBackend) Open(whole bool, names ...string) (*mcp.View, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(whole)
	paths := make([]string, len(names))
	for i, name := range names {
		e, err := b.find(name)
		if err != nil {
			return nil, err
		}
		paths[i] = e.Path
		info, err := os.Stat(e.Path)
		if err != nil {
			return nil, err
		}
		key += fmt.Sprintf("\n%s %d %d", e.Path, info.Size(), info.ModTime().UnixNano())
	}
	if i := slices.IndexFunc(b.kept, func(k keptView) bool { return k.key == key }); i >= 0 {
		k := b.kept[i]
		b.kept = append(slices.Delete(b.kept, i, i+1), k)
		return k.view, nil
	}
	v, err := b.open(whole, paths)
	if err != nil {
		return nil, err
	}
	b.kept = append(b.kept, keptView{key, v})
	b.kept = b.kept[max(0, len(b.kept)-keptViews):]
	for len(b.kept) > 1 && b.keptNodes() > keptNodes {
		b.kept = slices.Delete(b.kept, 0, 1)
	}
	return v, nil
}

// find finds a trace of the store, or the file at an absolute path, which the server
// has looked at before. Nothing else is found: the store itself would take the name of
// any file.
func (b *mcpBackend) find(name string) (store.Entry, error) {
	e, err := b.look.Store.Find(name)
	var missing *store.NotFoundError
	if errors.As(err, &missing) {
		return e, notFoundForAgent(missing)
	}
	if err != nil || filepath.IsAbs(name) {
		return e, err
	}
	dir, err := filepath.EvalSymlinks(b.look.Store.Dir())
	if err != nil {
		return e, err
	}
	path, err := filepath.EvalSymlinks(e.Path)
	if err != nil {
		return e, err
	}
	if filepath.Dir(path) != dir {
		return e, notFoundForAgent(&store.NotFoundError{Name: name})
	}
	return e, nil
}

// notFoundForAgent says what the store says in the words of an agent's tools.
func notFoundForAgent(e *store.NotFoundError) error {
	switch {
	case len(e.Near) > 0:
		return fmt.Errorf("no trace %s: did you mean %s? list_traces shows all", e.Name, strings.Join(e.Near, " or "))
	case e.Have > 0:
		return fmt.Errorf("no trace %s: list_traces shows all %d", e.Name, e.Have)
	}
	return fmt.Errorf("no trace %s: list_traces shows the saved traces", e.Name)
}

// open opens traces as tracerag tree and the other commands do.
func (b *mcpBackend) open(whole bool, paths []string) (*mcp.View, error) {
	var warnings []string
	look := b.look
	look.Warn = func(err error) { warnings = append(warnings, err.Error()) }
	o := b.tree
	if whole {
		o.Baseline = session.NoBaseline
	}
	views, err := look.Open(paths, o)
	if err != nil {
		return nil, err
	}
	out := &mcp.View{
		Rank: func(question string) *rank.Ranking { return b.look.Rank(question, views) },
		Prompt: func(question string, budget int) (*prompt.Prompt, error) {
			if err := b.look.PromptFits(views); err != nil {
				return nil, err
			}
			return prompt.Build(b.look.Input(question, views...), prompt.Options{Variant: prompt.Ordered, Budget: budget})
		},
	}
	for i, v := range views {
		run := &mcp.Run{ID: v.Entry.ID, Title: v.Title(), Trace: v.Trace, Tree: v.Tree, Pruned: v.Pruned, Notes: v.Notes(), Source: v.MaskedText(b.look.Mask), File: v.File}
		if i == 0 {
			run.Notes = append(run.Notes, warnings...)
		}
		out.Runs = append(out.Runs, run)
	}
	return out, nil
}
