package main

import (
	"context"
	"errors"

	"tracerag/jobs"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/postgres"
	"tracerag/knowledge/stores"
	"tracerag/visible"
)

// database is the knowledge base, which must be one that can be shared, for what is in none else.
func (a *app) database(k *knowledgeFlags, what string) (*stores.Place, error) {
	traces, err := a.store()
	if err != nil {
		return nil, err
	}
	place, err := a.place(k, traces.Dir())
	if err == nil && !place.IsDatabase() {
		err = errors.New(what + " are kept in a database, and the knowledge base is a file\nname one with --knowledge postgres://USER@HOST/DATABASE, or set $" + knowledgeVariable)
	}
	return place, err
}

// queue opens the jobs of the knowledge base.
func (a *app) queue(ctx context.Context, k *knowledgeFlags) (*jobs.Queue, func(), error) {
	place, err := a.database(k, "jobs")
	if err != nil {
		return nil, nil, err
	}
	at, o := place.Database()
	s, err := postgres.Open(ctx, at, o)
	if err != nil {
		return nil, nil, err
	}
	q, err := jobs.Open(s)
	return q, func() { _ = s.Close() }, err
}

// follow has workers look after git URLs: all of them or none.
func (a *app) follow(ctx context.Context, k *knowledgeFlags, urls []string, wanted jobs.Wanted) error {
	for _, url := range urls {
		if err := jobs.Check(url); err != nil {
			return err
		}
	}
	q, end, err := a.queue(ctx, k)
	if err != nil {
		return err
	}
	defer end()
	for _, url := range urls {
		added, err := q.Follow(ctx, url, wanted)
		if err != nil {
			return err
		}
		if added {
			a.note("following %s: workers index it", index.Shown(url))
		} else {
			a.note("%s was followed already: a worker looks at it now", index.Shown(url))
		}
	}
	workers, err := q.Workers(ctx)
	if err == nil && len(workers) == 0 {
		a.note("no worker is there: tracerag worker")
	}
	return err
}

// unfollow has workers leave a git URL alone.
func unfollow(ctx context.Context, s index.Store, target string) (bool, error) {
	db, ok := s.(*postgres.Store)
	if !ok || !index.IsURL(target) {
		return false, nil
	}
	q, err := jobs.Open(db)
	if err != nil {
		return false, err
	}
	return q.Unfollow(ctx, target)
}

// sharedTraces opens what a team shares.
func (a *app) sharedTraces(ctx context.Context, k *knowledgeFlags) (knowledge.Traces, func(), error) {
	place, err := a.database(k, "traces")
	if err != nil {
		return nil, nil, err
	}
	s, err := place.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return s.(knowledge.Traces), func() { _ = s.Close() }, nil
}

// keptLine says what a trace is of: what ran, how it ended and of which commit.
func keptLine(k *knowledge.KeptTrace) string {
	what := k.Package + " " + k.Test
	if k.Test == "" {
		what = k.Command
	}
	if k.Name != "" && k.Name != k.Test {
		what += " (" + k.Name + ")"
	}
	ended := "failed"
	if k.Passed {
		ended = "passed"
	}
	line := visible.Line(what) + "  " + ended
	if k.Module != "" {
		line += "  " + visible.Line(k.Module)
	}
	if n := min(len(k.Commit), 12); n > 0 {
		line += " at " + visible.Line(k.Commit[:n])
	}
	return line
}
