package mcp

import (
	"context"
	"sync"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/lookup"
	"tracerag/locate"
)

// Sources is what is known of repositories in a store, which is opened when an agent asks for the
// first time: most agents look at traces alone.
func Sources(open func(context.Context) (index.Store, error), o index.Options) Knowledge {
	return &sources{open: open, options: o}
}

type sources struct {
	open    func(context.Context) (index.Store, error)
	options index.Options

	mu    sync.Mutex
	store index.Store
}

// refreshing is how long an answer may wait for what changed. What takes longer is named as
// stale.
const refreshing = time.Second

// Refresh implements [Knowledge].
func (k *sources) Refresh(ctx context.Context, all bool) (stale []string, err error) {
	store, err := k.opened(ctx)
	if err != nil {
		return nil, err
	}
	limit := refreshing
	if all {
		limit = time.Duration(1<<63 - 1)
	}
	left, err := index.Refresh(ctx, store, limit, nil, k.options)
	for _, l := range left {
		stale = append(stale, l.Repository.Name+": "+l.String())
	}
	return stale, err
}

func (k *sources) opened(ctx context.Context) (index.Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.store == nil {
		s, err := k.open(ctx)
		if err != nil {
			return nil, err
		}
		k.store = s
	}
	return k.store, nil
}

// Repositories implements [Knowledge].
func (k *sources) Repositories(ctx context.Context) ([]knowledge.Repository, error) {
	store, err := k.opened(ctx)
	if err != nil {
		return nil, err
	}
	return store.Repositories(ctx)
}

// Lookup implements [Knowledge].
func (k *sources) Lookup(ctx context.Context) (*lookup.Lookup, error) {
	store, err := k.opened(ctx)
	return &lookup.Lookup{Store: store}, err
}

// Locate implements [Knowledge].
func (k *sources) Locate(ctx context.Context, q locate.Question, limit int) (*locate.Answer, error) {
	store, err := k.opened(ctx)
	if err != nil {
		return nil, err
	}
	return locate.Locate(ctx, store, q, locate.Options{Limit: limit})
}
