package main

import (
	"context"
	"fmt"

	"tracerag/knowledge/index"
	"tracerag/phrase"
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
