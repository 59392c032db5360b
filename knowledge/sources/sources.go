// Package sources is what is known of repositories' sources, for faces that answer one
// question after another (an agent's tools, a page): a store that is opened for the first of them,
// and brought up to date before each.
package sources

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/lookup"
	"tracerag/locate"
)

// OpenFunc opens a store. If nothing is known in it yet, it indexes what it is to know if it
// may, and else returns [knowledge.ErrNotIndexed].
type OpenFunc func(ctx context.Context, mayIndex bool) (index.Store, error)

// Sources is a store that is opened when somebody asks for the first time: most look at
// traces alone. It is safe for concurrent use.
type Sources struct {
	open    OpenFunc
	options index.Options

	mu    sync.Mutex
	store index.Store
}

// New returns what is known in the store that open opens; updates are made with the options.
func New(open OpenFunc, o index.Options) *Sources { return &Sources{open: open, options: o} }

// Refresh brings what is known up to date with the files: whatever takes a moment, or, if all
// is set, everything. It returns a line for each thing that is stale then, or missing.
func (k *Sources) Refresh(ctx context.Context, all bool) (stale []string, err error) {
	store, err := k.opened(ctx, false)
	if err != nil {
		return nil, err
	}
	limit := index.RefreshLimit
	if all {
		limit = time.Duration(1<<63 - 1)
	}
	left, err := index.Refresh(ctx, store, limit, nil, k.options)
	for _, l := range left {
		stale = append(stale, l.Repository.Name+": "+l.String())
	}
	return stale, err
}

// Index opens the store, and indexes what it is to know if it does not yet.
func (k *Sources) Index(ctx context.Context) error {
	_, err := k.opened(ctx, true)
	return err
}

func (k *Sources) opened(ctx context.Context, mayIndex bool) (index.Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := ctx.Err(); err != nil { // while another one indexed
		return nil, err
	}
	if k.store == nil {
		s, err := k.open(ctx, mayIndex)
		if err != nil {
			return nil, err
		}
		k.store = s
	}
	return k.store, nil
}

// Close closes the store, if it was opened.
func (k *Sources) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.store.(io.Closer)
	if !ok {
		return nil
	}
	k.store = nil
	k.open = func(context.Context, bool) (index.Store, error) { return nil, errors.New("closed") }
	return c.Close()
}

// Repositories returns the repositories that are known.
func (k *Sources) Repositories(ctx context.Context) ([]knowledge.Repository, error) {
	store, err := k.opened(ctx, false)
	if err != nil {
		return nil, err
	}
	return store.Repositories(ctx)
}

// Lookup returns what finds declarations, for one answer.
func (k *Sources) Lookup(ctx context.Context) (*lookup.Lookup, error) {
	store, err := k.opened(ctx, false)
	if err != nil {
		return nil, err
	}
	return &lookup.Lookup{Store: store}, nil
}

// Locate finds what a question is about.
func (k *Sources) Locate(ctx context.Context, q locate.Question, limit int) (*locate.Answer, error) {
	store, err := k.opened(ctx, false)
	if err != nil {
		return nil, err
	}
	return locate.Locate(ctx, store, q, locate.Options{Limit: limit})
}
