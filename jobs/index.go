package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
)

// FileURLError says that a worker does not take a directory of its machine.
type FileURLError struct{ URL, Below string }

func (e *FileURLError) Error() string {
	if e.Below == "" {
		return e.URL + " is a directory of a worker's machine: this worker takes none of these"
	}
	return fmt.Sprintf("%s is not below %s", e.URL, e.Below)
}

// mostCalls is how long calls may take, as with the command index.
const mostCalls = 15 * time.Second

// index brings what is known of a git URL up to date. It takes the commit that the URL has now: if there is
// a newer one than the job's, the job for that finds nothing to do.
func (s *session) index(ctx context.Context, t Task) error {
	if err := s.allowed(t.What); err != nil {
		return &FinalError{err}
	}
	if old, err := s.queue.superseded(ctx, t); old || err != nil {
		return err
	}
	done, err := s.indexed(ctx, t)
	if err != nil {
		return err
	}
	if !done {
		if err := s.update(ctx, t); err != nil {
			return err
		}
	}
	// Also if a worker was killed that had not come to it.
	return s.queue.addWanted(ctx, t)
}

// update clones a URL and indexes it.
func (s *session) update(ctx context.Context, t Task) error {
	// Two commits of one repository at once would be mixed.
	unlock, ok, err := s.Store.TryLockName(ctx, "index "+t.What)
	if err != nil {
		return err
	}
	if !ok {
		return &laterError{after: time.Second}
	}
	defer unlock()
	release, err := index.Hold(ctx, t.What, s.Clones, nil)
	if err != nil {
		return err
	}
	defer release()
	place, err := index.Locate(ctx, t.What, s.Clones)
	if err != nil {
		return err
	}
	_, err = index.Update(ctx, s.Store, place.Dir, index.Options{URL: place.URL, Calls: index.CallsWithin(mostCalls)})
	return err
}

// allowed returns why a URL is not cloned. Jobs are rows, which others may write in any way.
func (s *session) allowed(url string) error {
	if !index.IsURL(url) {
		return fmt.Errorf("%s is no git URL", url)
	}
	if err := index.CheckURL(url); err != nil {
		return err
	}
	path := index.FileURL(url)
	if path == "" {
		return nil
	}
	if s.Files == "" {
		return &FileURLError{url, ""}
	}
	below, err := filepath.EvalSymlinks(s.Files)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(below, path); err != nil || !filepath.IsLocal(rel) {
		return &FileURLError{url, s.Files}
	}
	return nil
}

// indexed reports whether nothing is left of a job: the commit is the one that is known, and its calls. A worker may
// have been killed before it made these.
func (s *session) indexed(ctx context.Context, t Task) (bool, error) {
	all, err := s.Store.Repositories(ctx)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(all, func(r knowledge.Repository) bool { return r.URL == index.Shown(t.What) })
	if i < 0 {
		return false, nil
	}
	r := all[i]
	return t.Version != "" && r.Snapshot.Commit == t.Version && r.Snapshot.Uncommitted == (code.Hash{}) && !r.Incomplete && r.Calls == knowledge.FreshCalls, nil
}

// Check returns why a URL can't be indexed by workers.
func Check(url string) error {
	if !index.IsURL(url) {
		return fmt.Errorf("%s is no git URL: workers clone what they index", url)
	}
	err := index.CheckURL(url)
	if secret, ok := errors.AsType[*index.SecretURLError](err); ok {
		return secret
	}
	return err
}
