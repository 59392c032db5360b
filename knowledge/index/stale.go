package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tracerag/knowledge"
	"tracerag/phrase"
)

// Staleness says in what a repository differs from what a store has of it.
type Staleness struct {
	Repository knowledge.Repository
	Missing    error    // the directory can't be listed any more
	Changed    []string // paths; also files that are new
	Gone       []string // paths
	Modules    bool     // go.mod files changed
	Commit     string   // checked out now, if it is another one
	Bytes      int64    // of the changed files

	plan *plan
}

// Is reports whether anything differs. Calls that are older than the files are
// [knowledge.OldCalls] of the repository.
func (s *Staleness) Is() bool {
	return !s.Repository.Elsewhere && (s.Missing != nil || len(s.Changed) > 0 || len(s.Gone) > 0 || s.Modules || s.Commit != "" || s.Repository.Incomplete)
}

// String says what differs: "3 files changed, 1 removed since 1f2e3d4c5b6a".
func (s *Staleness) String() string {
	if s.Missing != nil {
		return s.Missing.Error()
	}
	var parts []string
	if n := len(s.Changed); n > 0 {
		parts = append(parts, phrase.Plural(n, "file", "files")+" changed")
	}
	if n := len(s.Gone); n > 0 {
		parts = append(parts, phrase.Plural(n, "file", "files")+" removed")
	}
	if s.Modules {
		parts = append(parts, "go.mod files changed")
	}
	if s.Commit != "" {
		parts = append(parts, fmt.Sprintf("commit %.12s is checked out", s.Commit))
	}
	if s.Repository.Incomplete {
		parts = append(parts, "an update was interrupted")
	}
	return strings.Join(parts, ", ")
}

// Stale says what changed in a repository since a store was brought up to date, by sizes
// and times. Files whose time can't tell are read.
func Stale(ctx context.Context, w Store, r knowledge.Repository) (*Staleness, error) {
	s := &Staleness{Repository: r}
	if r.Elsewhere { // the machine that has its files looks
		return s, nil
	}
	p, err := look(ctx, w, r.Root, &r)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		s.Missing = err
		return s, nil
	}
	s.plan = p
	for _, e := range p.read {
		if f, ok := p.files[e.Path]; ok && f.Time.IsZero() && f.Size == e.Size && !changedPlace(e, f) {
			if o := p.file(e, nil); o.seen != nil {
				continue
			}
		}
		s.Changed = append(s.Changed, e.Path)
		s.Bytes += e.Size
	}
	s.Gone, s.Modules = p.gone, p.modules
	if p.commit != r.Snapshot.Commit {
		s.Commit = p.commit
	}
	return s, nil
}

// stale is Stale for some repositories. All are looked at at the same time: while one waits for git
// or the disk, others are listed.
func stale(ctx context.Context, w Store, all []knowledge.Repository) ([]*Staleness, error) {
	found, failed := make([]*Staleness, len(all)), make([]error, len(all))
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0)) // each holds a few files open
	var wg sync.WaitGroup
	for i, r := range all {
		slots <- struct{}{}
		wg.Go(func() {
			found[i], failed[i] = Stale(ctx, w, r)
			<-slots
		})
	}
	wg.Wait()
	return found, errors.Join(failed...)
}

// Rates of updating, on the slow side: measured are 3.6 MB of source a second and
// less than a millisecond for a removed file.
const (
	bytesASecond = 2 << 20
	removeTime   = time.Millisecond
)

// takes estimates how long an update takes.
func (s *Staleness) takes() time.Duration {
	return 100*time.Millisecond + time.Duration(s.Bytes)*time.Second/bytesASecond + time.Duration(len(s.Gone))*removeTime
}

// RefreshLimit is how long an answer may wait for a repository to be brought up to date. What takes
// longer is named as stale.
const RefreshLimit = time.Second

// Refresh is for commands that read a store. It looks at all repositories, or those that
// are named by number, and brings up to date the ones for which that takes less than the limit. What it left stale,
// and what it could not look at, is in the list. Calls are not made: see
// [knowledge.Repository.Calls]. In a store that can't be written all stays as it is, and stale.
func Refresh(ctx context.Context, w Store, limit time.Duration, repositories []int64, o Options) (left []*Staleness, err error) {
	all, err := w.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	o.Calls = nil
	if len(repositories) > 0 {
		all = slices.DeleteFunc(all, func(r knowledge.Repository) bool { return !slices.Contains(repositories, r.ID) })
	}
	found, err := stale(ctx, w, all)
	if err != nil {
		return nil, err
	}
	for i, s := range found {
		r := all[i]
		if s.Is() && (s.Missing != nil || s.takes() > limit) {
			left = append(left, s)
			continue
		}
		if s.plan == nil || !s.Is() && len(s.plan.read) == 0 {
			continue
		}
		o.URL = r.URL
		if _, err := s.plan.update(ctx, w, o, &Result{}); errors.Is(err, knowledge.ErrUnwritable) {
			if s.Is() {
				left = append(left, s)
			}
		} else if err != nil {
			return left, err
		}
	}
	if err := updateRuns(ctx, w, o.Traces, &Result{}); !errors.Is(err, knowledge.ErrUnwritable) {
		return left, err
	}
	return left, nil
}
