package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tracerag/jobs"
	"tracerag/knowledge/index"
	"tracerag/memory"
	"tracerag/phrase"
)

const indexHelp = `
index reads Go repositories and keeps what it finds in one file, or in PostgreSQL: declarations, their words,
calls, the git history, and the saved runs of each. No program of them is run (types come from
the go command), and no model is asked but by --embed-model and --summaries. Run again, it reads
only what changed.

  tracerag index                                      the module around
  tracerag index ../app ../lib                        several repositories in one file
  tracerag index https://github.com/evanw/esbuild     a clone in the user's cache directory
  tracerag index --forget ../app                      leave out one that was moved or deleted
  tracerag index --summaries --max-cost 2             also have a model say what each function does
  tracerag index --copy-to postgres://me@db/team      move what is known to a database, for a team
  tracerag index --follow https://host/app#main       have workers index each new commit of a branch

Calls need types. By default they are made for repositories of up to 250,000 lines, and
again only when code changed: that takes seconds, the rest of an index one.

Summaries are made once: later only of what changed. What saved runs executed comes first;
--ran=@last takes only that.

Ctrl-C keeps what is done; the same command goes on from there.`

func runIndex(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, indexHelp)
	var k knowledgeFlags
	k.add(f)
	var m meteredFlags
	e := embedFlags{server: &m.modelFlags}
	e.add(f, "make the vectors of functions")
	summaries := f.Bool("summaries", false, "have a model say what each declaration, file, package and repository does")
	ran := f.String("ran", "", "with --summaries: only the files that this `TRACE` executed")
	edges := f.String("edges", "auto", "make the calls between declarations: yes, no, or auto: if they take less than "+phrase.Duration(mostCalls))
	forget := f.Bool("forget", false, "remove the named repositories from the index: by directory, URL or name")
	follow := f.Bool("follow", false, "have workers index these URLs, and each new commit of theirs (a branch or tag after #);\n--forget ends it")
	recordTests := f.Bool("record", false, "with --follow: also have workers record the tests of each commit, in a sandbox")
	embed := f.Bool("embed", false, "with --follow: also have workers make the vectors of functions")
	copyTo := f.String("copy-to", "", "copy all that is known into `PLACE`, an empty file or database, and index nothing")
	asJSON := f.Bool("json", false, "print what was made as JSON")
	a.section(f, "The model")
	m.add(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	makeCalls, ok := map[string]index.CallsFunc{"auto": index.CallsWithin(mostCalls), "yes": index.TypedCalls, "no": nil}[*edges]
	if !ok {
		return a.usage(c, fmt.Sprintf("--edges=%s: must be auto, yes or no", *edges))
	}
	if err := m.check(); err != nil {
		return a.usage(c, err.Error())
	}
	if *recordTests && !*follow {
		return a.usage(c, "--record is for --follow: tracerag run --each records tests here")
	}
	if *embed && !*follow {
		return a.usage(c, "--embed is for --follow: --embed-model MODEL makes vectors here")
	}
	if *ran != "" && !*summaries {
		return a.usage(c, "--ran says which summaries are made: add --summaries")
	}
	if makeCalls != nil {
		memory.CollectAt(60) // type-checking esbuild has 170 MiB in use
	}
	traces, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	targets := f.Args()
	if slices.Contains(targets, "") {
		return a.usage(c, "an argument is empty: name a directory or a URL, or nothing for the module around")
	}
	if len(targets) == 0 {
		targets = []string{a.moduleRoot()}
	}
	if *forget && f.NArg() == 0 {
		return a.usage(c, "--forget: name what to forget, a directory, a URL or a name")
	}
	if *copyTo != "" {
		if f.NArg() > 0 || *forget || *summaries || e.model != "" {
			return a.usage(c, "--copy-to copies all, and does nothing else: leave out the other flags and arguments")
		}
		if err := a.copyKnowledge(ctx, &k, traces.Dir(), *copyTo); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	if *follow {
		if f.NArg() == 0 || *forget || *ran != "" || e.model != "" || *asJSON {
			return a.usage(c, "--follow takes URLs, and leaves the work to workers: leave out the other flags but --summaries, --record and --embed")
		}
		if err := a.follow(ctx, &k, f.Args(), jobs.Wanted{Summaries: *summaries, Record: *recordTests, Vectors: *embed}); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	if *ran != "" {
		entry, err := traces.Find(*ran)
		if err != nil {
			return a.fail(err)
		}
		*ran = entry.ID
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	place, err := a.place(&k, traces.Dir())
	if err != nil {
		return a.fail(err)
	}
	s, err := place.Open(ctx)
	if err != nil {
		return a.fail(err)
	}
	defer func() { _ = s.Close() }()
	code := exitOK
	reports := []indexed{}
	for _, target := range targets {
		if *forget {
			unfollowed, err := unfollow(ctx, s, target)
			if err != nil {
				return a.fail(err)
			}
			r, err := index.Forget(ctx, s, target)
			if unfollowed && isA[*index.NotKnownError](err) { // no worker has indexed it yet
				a.note("forgot %s", index.Shown(target))
				continue
			}
			if err != nil {
				return a.fail(err)
			}
			a.note("forgot %s (%s): its files are as they were", r.Name, r.Root)
			continue
		}
		r, err := a.takeIn(ctx, s, target, index.Options{Traces: []string{traces.Dir()}, Calls: makeCalls})
		if errors.Is(err, context.Canceled) {
			a.complain("interrupted: what was done is kept, and the same command goes on from there")
			code = exitInterrupted
			break
		}
		if err != nil {
			code = a.fail(fmt.Errorf("indexing %s: %w", index.Shown(target), err))
			continue
		}
		reports = append(reports, indexed{Report: *r})
	}
	if e.model != "" && code == exitOK {
		if err := a.embed(ctx, s, &e); err != nil {
			code = a.fail(err)
		}
	}
	if *summaries && code == exitOK {
		err := a.summarise(ctx, s, place, &m, *ran, reports)
		if errors.Is(err, context.Canceled) {
			a.complain("interrupted: what was made is kept, and the same command goes on from there")
			code = exitInterrupted
		} else if err != nil {
			code = a.fail(err)
		}
	}
	if *asJSON {
		if err := a.printJSON(reports); err != nil {
			return a.fail(err)
		}
		return code
	}
	for _, r := range reports {
		err := r.Write(a.stdout)
		if err == nil && r.Summaries != nil {
			err = r.Summaries.Write(a.stdout)
		}
		if r.Summaries != nil && r.Summaries.Useless() {
			a.complain("%s: no reply of %s was in the form asked for: it may be too small, or not made for instructions", r.Repository, r.Summaries.Model)
			code = max(code, exitFailure)
		}
		if err != nil {
			return a.fail(err)
		}
		if r.CallsLeft > 0 {
			a.note("%s: calls were left out, they take about %.0f s: tracerag index --edges=yes makes them", r.Repository, r.CallsLeft)
		}
	}
	return code
}
