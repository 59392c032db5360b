package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"tracerag/knowledge/index"
	"tracerag/knowledge/sqlite"
)

const indexHelp = `
index reads Go repositories and keeps what it finds in one file: declarations, their words,
calls, the git history, and the saved runs of each. Nothing is run, no model is asked. Run
again, it reads only what changed.

  tracerag index                                      the module around
  tracerag index ../app ../lib                        several repositories in one file
  tracerag index https://github.com/evanw/esbuild     a clone in the user's cache directory

Ctrl-C keeps what is done; the same command goes on from there.`

func runIndex(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, indexHelp)
	var k knowledgeFlags
	k.add(f)
	asJSON := f.Bool("json", false, "print what was made as JSON")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	traces, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	targets := f.Args()
	if len(targets) == 0 {
		targets = []string{a.moduleRoot()}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	s, err := sqlite.Open(ctx, k.path(traces.Dir()))
	if err != nil {
		return a.fail(err)
	}
	defer func() { _ = s.Close() }()
	code := exitOK
	var reports []index.Report
	for _, target := range targets {
		r, err := a.index(ctx, s, target, traces.Dir())
		if errors.Is(err, context.Canceled) {
			a.complain("interrupted: what was done is kept, and the same command goes on from there")
			code = exitInterrupted
			break
		}
		if err != nil {
			code = a.fail(fmt.Errorf("indexing %s: %w", target, err))
			continue
		}
		reports = append(reports, *r)
	}
	if *asJSON {
		if err := a.printJSON(append([]index.Report{}, reports...)); err != nil {
			return a.fail(err)
		}
		return code
	}
	for _, r := range reports {
		if err := r.Write(a.stdout); err != nil {
			return a.fail(err)
		}
	}
	return code
}

// index takes one repository in.
func (a *app) index(ctx context.Context, s *sqlite.Store, target, traces string) (*index.Report, error) {
	clones, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	done := a.wait("cloning " + target)
	place, err := index.Locate(ctx, target, filepath.Join(clones, "tracerag", "repositories"))
	done()
	if err != nil {
		return nil, err
	}
	bar := a.progress("files")
	defer bar.Close()
	r, err := index.Update(ctx, s, place.Dir, index.Options{URL: place.URL, Traces: []string{traces}, Progress: bar.Set})
	if err != nil {
		return nil, err
	}
	n, err := s.Counts(ctx, r.Repository.ID)
	report := index.NewReport(r, n)
	return &report, err
}
