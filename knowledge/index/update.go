package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
)

// Options says what is taken into a store beside a repository's files.
type Options struct {
	Name string // of a new repository, if no other has it; "" is the directory's
	URL  string // that the repository was cloned from
	// Traces are directories of saved traces. Of each the runs are taken in, and
	// those of removed traces are removed.
	Traces []string
	// Calls returns the calls of a repository; nil leaves those in the store as they are.
	Calls CallsFunc
	// Progress is called, from one goroutine, as files are done; nil is not.
	Progress func(done, all int)
}

// Result says what an update did.
type Result struct {
	Repository knowledge.Repository // as it is now
	Read       int                  // files that were read
	Parsed     int                  // files of which something was written
	Removed    int                  // files
	Lines      int                  // of the files that were parsed
	Commits    int                  // new ones
	Runs       int                  // new ones
	CallsMade  bool
	CallsLeft  time.Duration // that calls would have taken, if they were left out for that
	Gaps       []Gap         // by path
	CallGaps   []string
	Elapsed    time.Duration
}

// Gap is something that is not in the store, and why.
type Gap struct {
	Path string `json:"path"` // below the root, or of a trace
	What string `json:"what"`
}

// Update brings a store up to date with the repository in a directory. What could not be read is
// in the result; the error is for what ends the update.
func Update(ctx context.Context, w Store, root string, o Options) (*Result, error) {
	start := time.Now()
	p, err := look(ctx, w, root, nil)
	if err != nil {
		return nil, err
	}
	r, err := p.carryOut(ctx, w, o)
	if r != nil {
		r.Elapsed = time.Since(start)
	}
	return r, err
}

// Store is what is brought up to date.
type Store interface {
	knowledge.Reader
	knowledge.Writer
}

// carryOut makes what the plan says.
func (p *plan) carryOut(ctx context.Context, w Store, o Options) (*Result, error) {
	r := &Result{}
	for _, g := range p.listing.Gaps {
		r.Gaps = append(r.Gaps, Gap{g.Path, g.What})
	}
	// What they are old by may have gone again, with no file changed: go.work or go.sum.
	p.finish = o.Calls != nil && p.stored.Calls == knowledge.OldCalls
	id, err := p.update(ctx, w, o, r)
	if err == nil {
		err = updateRuns(ctx, w, o.Traces, r)
	}
	if err == nil && o.Calls != nil {
		err = p.updateCalls(ctx, w, id, o.Calls, r)
	}
	slices.SortFunc(r.Gaps, func(a, b Gap) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.What, b.What)) })
	if err != nil {
		return r, err
	}
	all, err := w.Repositories(ctx)
	if i := slices.IndexFunc(all, func(x knowledge.Repository) bool { return x.ID == id }); i >= 0 {
		r.Repository = all[i]
	}
	return r, err
}

// update takes in the files and the history: the snapshot. It writes nothing if nothing
// changed.
func (p *plan) update(ctx context.Context, w Store, o Options, r *Result) (id int64, err error) {
	if p.current() {
		// A listing that tells all has no other files that could not be read than too large ones.
		if p.files == nil && slices.ContainsFunc(p.listing.Files, func(e code.Entry) bool { return e.TooLarge }) {
			err = p.compare(ctx, w)
		}
		unread(r, slices.Collect(maps.Values(p.files)))
		return p.stored.ID, err
	}
	name := cmp.Or(o.Name, filepath.Base(p.listing.Root))
	id, number, err := w.Begin(ctx, knowledge.Repository{Name: name, Root: p.listing.Root, URL: o.URL, Modules: p.listing.Modules})
	if err != nil {
		return 0, err
	}
	for paths := range slices.Chunk(p.gone, 500) {
		if err := w.Write(ctx, id, knowledge.Change{Remove: paths}); err != nil {
			return id, err
		}
		r.Removed += len(paths)
	}
	if err := p.writeFiles(ctx, w, id, o.Progress, r); err != nil {
		return id, err
	}
	if err := p.updateHistory(ctx, w, id, r); err != nil {
		return id, err
	}
	files, err := w.Stored(ctx, id)
	if err != nil {
		return id, err
	}
	unread(r, files)
	snapshot := knowledge.Snapshot{Commit: p.commit, Listing: listingOfStored(files)}
	if snapshot.Uncommitted, err = p.git.uncommitted(ctx, p.commit, files); err != nil {
		r.Gaps = append(r.Gaps, Gap{".git", err.Error()})
	}
	for _, f := range files {
		if f.Time.After(snapshot.Time) {
			snapshot.Time = f.Time
		}
	}
	return id, w.Finish(ctx, id, number, snapshot, callKey(p.listing, files))
}

// unread lists the files that could not be read: in this update, or before and as they were.
func unread(r *Result, files []knowledge.Stored) {
	for _, f := range files {
		if f.Problem != "" {
			r.Gaps = append(r.Gaps, Gap{f.Path, f.Problem})
		}
	}
}

// plan is what changed since a store was filled.
type plan struct {
	listing *code.Listing
	git     *git
	commit  string                      // today
	stored  knowledge.Repository        // ID 0: not in the store
	files   map[string]knowledge.Stored // those in the store, by path; nil if none of them changed
	read    []code.Entry                // to be read: they may have changed
	bytes   int64                       // of these
	gone    []string                    // paths in the store that are not there any more
	modules bool                        // go.mod files changed
	finish  bool                        // the snapshot is made again, though nothing changed
}

// current reports whether nothing changed.
func (p *plan) current() bool {
	return p.stored.ID != 0 && !p.finish && !p.stored.Incomplete && len(p.read) == 0 && len(p.gone) == 0 && !p.modules && p.commit == p.stored.Snapshot.Commit
}

// look finds out what changed, by sizes and times. Git is asked while the directory is listed. The
// store's files are read if the listing is not the one that they were made from. Stored is the repository as
// the store has it, if the caller knows it: to read all of them for each of hundreds takes longer than
// all else.
func look(ctx context.Context, w Store, root string, stored *knowledge.Repository) (*plan, error) {
	abs, err := code.Root(root)
	if err != nil {
		return nil, err
	}
	p := &plan{git: openGit(abs)}
	var asking error
	var wg sync.WaitGroup
	var was *string // a new repository's commit is git's to say
	if stored != nil {
		p.stored, was = *stored, &stored.Snapshot.Commit
	} else {
		wg.Go(func() { p.stored, asking = storedAt(ctx, w, abs) })
	}
	wg.Go(func() { p.commit = p.git.head(ctx, was) })
	p.listing, err = code.Scan(abs, code.Options{})
	wg.Wait()
	if err = cmp.Or(err, asking); err != nil {
		return nil, err
	}
	p.modules = !slices.EqualFunc(p.listing.Modules, p.stored.Modules, sameModule)
	if l := p.stored.Snapshot.Listing; p.stored.Incomplete || l == (code.Hash{}) || l != listingOf(p.listing.Files) {
		err = p.compare(ctx, w)
	}
	return p, cmp.Or(err, ctx.Err())
}

// compare finds the files that may have changed, by those in the store.
func (p *plan) compare(ctx context.Context, w Store) error {
	var files []knowledge.Stored
	if p.stored.ID != 0 {
		var err error
		if files, err = w.Stored(ctx, p.stored.ID); err != nil {
			return err
		}
	}
	p.files = make(map[string]knowledge.Stored, len(files))
	for _, f := range files {
		p.files[f.Path] = f
	}
	there := make(map[string]bool, len(p.listing.Files))
	for _, e := range p.listing.Files {
		there[e.Path] = true
		if f, ok := p.files[e.Path]; !ok || changed(e, f) {
			p.read = append(p.read, e)
			p.bytes += e.Size
		}
	}
	for _, f := range files {
		if !there[f.Path] {
			p.gone = append(p.gone, f.Path)
		}
	}
	return nil
}

// storedAt returns the repository in a directory as a store has it.
func storedAt(ctx context.Context, w Store, root string) (r knowledge.Repository, err error) {
	all, err := w.Repositories(ctx)
	if i := slices.IndexFunc(all, func(x knowledge.Repository) bool { return x.Root == root }); i >= 0 {
		r = all[i]
	}
	return r, err
}

// changed reports whether a file may not be the one in the store any more.
func changed(e code.Entry, f knowledge.Stored) bool {
	if e.Package != f.Package || e.Module != f.Module || e.Class != f.Class || e.Size != f.Size {
		return true
	}
	if e.TooLarge {
		return false // only its size is kept
	}
	return f.Problem != "" || f.Time.IsZero() || !e.Time.Equal(f.Time)
}

func sameModule(a, b code.Module) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// errChanging is of a file that was written while it was read.
var errChanging = errors.New("it changed while it was read")
