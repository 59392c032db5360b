package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/phrase"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/store"
)

const pushHelp = `
push shares traces with a team: they are kept in its database, whole, with the commit of the
program. Without names it takes all saved ones that the database does not have. Secrets are masked, as in
every output.

  tracerag run --each -- go test ./...
  tracerag push --keep 20                 of each test the newest 20 stay in the database
  tracerag executed '(*Parser).Parse'        who executes that, in which repository?
  tracerag pull --commit 1f2e3d4c         have them in another place`

func runPush(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, pushHelp)
	var k knowledgeFlags
	k.add(f)
	commit := f.String("commit", "", "the `COMMIT` that was recorded (default: the one in the program, else that of the working\ntree)")
	keep := f.Int("keep", 0, "then remove from the database all but the newest `TRACES` of each test or program, this many")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.Changed("keep") && *keep < 1 {
		return a.usage(c, fmt.Sprintf("--keep=%d: must be at least 1", *keep))
	}
	saved, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	entries, err := saved.FindAll(f.Args())
	if err == nil && f.NArg() == 0 {
		entries, err = saved.List()
	}
	if err == nil {
		err = a.masker().Err()
	}
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
	here := *commit
	if here == "" {
		here = index.Head(ctx, a.moduleRoot())
	}
	bar := a.progress("traces")
	n := 0
	for i, e := range entries {
		added, err := push(ctx, a.session(saved), db, e, *commit, here)
		if err != nil {
			bar.Close()
			return a.fail(fmt.Errorf("trace %s: %w", e.ID, err))
		}
		if added {
			n++
		}
		bar.Set(i+1, len(entries))
	}
	bar.Close()
	switch {
	case len(entries) == 0:
		a.note("no traces in %s: tracerag run -- ./app makes one", saved.Dir())
	case n == 0:
		a.note("the database has all of them already")
	default:
		a.note("pushed %s, %d had been there", phrase.Plural(n, "trace", "traces"), len(entries)-n)
	}
	if *keep > 0 {
		dropped, err := db.DropTraces(ctx, *keep)
		if err != nil {
			return a.fail(err)
		}
		if dropped > 0 {
			a.note("removed %s from the database", phrase.Plural(dropped, "older trace", "older traces"))
		}
	}
	return exitOK
}

// mostPushed is how large a trace's file may be: PostgreSQL's limit of a value is not far above.
const mostPushed = 512 << 20

// push takes a trace into a team's database. commit is what the user says, here that of the working tree.
func push(ctx context.Context, s *session.Session, db knowledge.Traces, e store.Entry, commit, here string) (bool, error) {
	if e.Size > mostPushed {
		return false, fmt.Errorf("its file has %d MiB, and a database takes %d MiB\nname the other traces", e.Size>>20, mostPushed>>20)
	}
	t, _, err := s.Load(e.Path)
	if err != nil {
		return false, err
	}
	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		return false, err
	}
	run, executed := index.Executed(t)
	sum := sha256.Sum256(file.Bytes())
	return db.PushTrace(ctx, knowledge.KeptTrace{
		ID: hex.EncodeToString(sum[:])[:knowledge.TraceIDLength], Module: tracedModule(t), Commit: cmp.Or(commit, run.Snapshot, here),
		Package: run.Package, Test: run.Test, Command: run.Command, Name: t.Name, Passed: run.Passed, Recorded: e.Saved,
	}, file.Bytes(), executed)
}

// tracedModule is the module of a trace's program, or else its package.
func tracedModule(t *trace.Trace) string {
	return cmp.Or(t.Program.Main.Path, t.Program.MainPath, filepath.Base(t.Program.Path))
}
