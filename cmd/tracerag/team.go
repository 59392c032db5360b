package main

import (
	"context"
	"errors"

	"tracerag/jobs"
	"tracerag/knowledge/index"
	"tracerag/knowledge/postgres"
	"tracerag/knowledge/stores"
)

// database is the knowledge base, which must be one that workers can share.
func (a *app) database(k *knowledgeFlags) (*stores.Place, error) {
	traces, err := a.store()
	if err != nil {
		return nil, err
	}
	place, err := a.place(k, traces.Dir())
	if err == nil && !place.IsDatabase() {
		err = errors.New("jobs are kept in a database, and the knowledge base is a file\nname one with --knowledge postgres://USER@HOST/DATABASE, or set $" + knowledgeVariable)
	}
	return place, err
}

// queue opens the jobs of the knowledge base.
func (a *app) queue(ctx context.Context, k *knowledgeFlags) (*jobs.Queue, func(), error) {
	place, err := a.database(k)
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
func (a *app) follow(ctx context.Context, k *knowledgeFlags, urls []string, summaries bool) error {
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
		added, err := q.Follow(ctx, url, summaries)
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
