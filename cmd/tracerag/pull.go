package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/store"
)

const pullHelp = `
pull fetches traces that a team shares (tracerag push) into the directory of traces, by their IDs or by
what they are of. --list lists them, the newest first.

  tracerag pull --list --module example.com/shop
  tracerag pull 5f0c9a7b
  tracerag pull --commit 1f2e3d4c --test TestCheckout`

// mostPulled is how many traces are meant by a filter, unless the user wants more.
const mostPulled = 100

func runPull(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, pullHelp)
	var k knowledgeFlags
	k.add(f)
	var filter knowledge.TraceFilter
	f.StringVar(&filter.Module, "module", "", "those of `MODULE`")
	f.StringVar(&filter.Commit, "commit", "", "those of `COMMIT`, or what it begins with")
	f.StringVar(&filter.Package, "package", "", "those of tests in `PACKAGE`, or of that program")
	f.StringVar(&filter.Test, "test", "", "those of `TEST`: TestX or TestX/y")
	limit := f.Int("limit", mostPulled, "the newest `TRACES`, this many; 0 for all")
	list := f.Bool("list", false, "list them, and fetch none")
	asJSON := f.Bool("json", false, "with --list: print them as JSON")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	filtered := filter != knowledge.TraceFilter{}
	switch {
	case *limit < 0:
		return a.usage(c, fmt.Sprintf("--limit=%d: want a number of traces, or 0 for all", *limit))
	case f.NArg() > 0 && (filtered || *list):
		return a.usage(c, "name the traces, or say what they are of")
	case f.NArg() == 0 && !filtered && !*list:
		return a.usage(c, "name the traces, or say what they are of (--list lists them)")
	case *asJSON && !*list:
		return a.usage(c, "--json is for --list")
	}
	for _, id := range f.Args() {
		if len(id) < 4 || len(id) > knowledge.TraceIDLength || strings.Trim(id, "0123456789abcdef") != "" {
			return a.usage(c, fmt.Sprintf("%q is no trace's ID: 4 to %d of its hexadecimal digits", id, knowledge.TraceIDLength))
		}
	}
	saved, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	db, end, err := a.sharedTraces(ctx, &k)
	if err != nil {
		return a.fail(err)
	}
	defer end()
	ids := f.Args()
	if f.NArg() == 0 {
		filter.Limit = *limit
		kept, err := db.KeptTraces(ctx, filter)
		if err == nil && *list {
			err = a.printKept(kept, *asJSON)
		}
		if err != nil {
			return a.fail(err)
		}
		if *list {
			return exitOK
		}
		for i := range kept {
			ids = append(ids, kept[len(kept)-1-i].ID) // the newest last, which is @last then
		}
	}
	bar := a.progress("traces")
	defer bar.Close()
	for i, id := range ids {
		e, err := pull(ctx, db, saved, id)
		if err != nil {
			bar.Close()
			return a.fail(err)
		}
		if len(ids) == 1 {
			a.note("pulled trace %s", e.ID)
		}
		bar.Set(i+1, len(ids))
	}
	bar.Close()
	switch len(ids) {
	case 0:
		a.note("no trace that was pushed is of that: tracerag pull --list lists those that are there")
	case 1:
	default:
		a.note("pulled %s", phrase.Plural(len(ids), "trace", "traces"))
	}
	return exitOK
}

// pull fetches a trace, unless it is there, with those of the processes that its program started. What others wrote is held to
// the limits of a trace's file.
func pull(ctx context.Context, db knowledge.Traces, saved *store.Store, id string) (store.Entry, error) {
	file, err := db.TraceFile(ctx, id)
	if err != nil {
		return store.Entry{}, err
	}
	t, err := trace.Read(bytes.NewReader(file))
	if err != nil {
		return store.Entry{}, fmt.Errorf("trace %s: %w", id, err)
	}
	changed := false
	for i := range t.Processes {
		p := &t.Processes[i]
		if p.Trace == "" {
			continue
		}
		process, err := db.ProcessFile(ctx, fileID(file)[:knowledge.TraceIDLength], p.Trace)
		if _, gone := errors.AsType[*knowledge.NoTraceError](err); gone {
			continue // it was, when the run was pushed
		}
		if err != nil {
			return store.Entry{}, err
		}
		e, err := savePulled(saved.Processes(), process)
		if err != nil {
			return store.Entry{}, fmt.Errorf("trace %s: process %s: %w", id, p.Trace, err)
		}
		changed = changed || e.ID != p.Trace // another version of tracerag writes it in another way
		p.Trace = e.ID
	}
	if changed {
		return saved.Save(t)
	}
	return savePulled(saved, file)
}

// savePulled saves a trace, unless it is there.
func savePulled(saved *store.Store, file []byte) (store.Entry, error) {
	there, err := saved.List()
	if err != nil {
		return store.Entry{}, err
	}
	for _, e := range there {
		if e.Size == int64(len(file)) && strings.HasPrefix(fileID(file), e.ID) {
			return e, nil
		}
	}
	t, err := trace.Read(bytes.NewReader(file))
	if err != nil {
		return store.Entry{}, err
	}
	return saved.Save(t)
}

func (a *app) printKept(list []knowledge.KeptTrace, asJSON bool) error {
	for _, k := range list {
		a.masker().LearnCommand(k.Command)
	}
	if asJSON {
		if list == nil {
			list = []knowledge.KeptTrace{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.note("no such trace was pushed: tracerag push shares them")
		return nil
	}
	var b strings.Builder
	for _, k := range list {
		fmt.Fprintf(&b, "%s  %s  %s\n", k.ID, k.Recorded.UTC().Format("2006-01-02 15:04"), keptLine(&k))
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
