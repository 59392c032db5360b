package record

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"tracerag/trace"
	"tracerag/trace/store"
)

// A run cannot be had twice: its trace is saved somewhere, or the user learns that it
// is lost.

// save saves the trace of a run that is over: if not in the store, then somewhere else.
func (r *Runner) save(tr *trace.Trace) (store.Entry, error) {
	e, err := r.Store.Save(tr)
	no, ok := errors.AsType[*store.UnwritableError](err)
	if !ok {
		return e, err
	}
	e, elsewhere := r.rescue(tr)
	if elsewhere != nil {
		return e, fmt.Errorf("the trace of this run is lost: it cannot be saved in %s: %w\nnor elsewhere:\n%w", no.Dir, no.Err, elsewhere)
	}
	r.event(SavedElsewhere{Dir: no.Dir, Err: no.Err, Path: e.Path})
	return e, nil
}

// rescue saves a trace that the store did not take: with others of this recording, such
// as those of its tests, if there are any.
func (r *Runner) rescue(tr *trace.Trace) (store.Entry, error) {
	if r.refuge != "" {
		if e, err := store.Open(r.refuge).Save(tr); err == nil {
			return e, nil
		}
	}
	e, err := store.Rescue(tr, refuges()...)
	if err == nil {
		r.refuge = filepath.Dir(e.Path)
	}
	return e, err
}

// refuges are the directories in which a trace can be saved if need be. On many machines
// most of them are on one disk, which is full; the last one is memory.
func refuges() []string {
	all := []string{os.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, filepath.Join(cache, "tracerag"))
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !slices.Contains(all, dir) && runtime.GOOS != "windows" {
			all = append(all, dir)
		}
	}
	return all
}

// untilSaved keeps those who end a program from ending us before its trace is saved: a
// second Ctrl-C comes when the program has ended by the first. begin is for when the
// program runs, since until then nothing can be lost; end, for when the trace is saved.
// A quit (Ctrl-\) still ends us: saving may hang on a file system that does.
func untilSaved() (begin, end func()) {
	ignored := make(chan os.Signal, 1)
	begin = func() {
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			if !signal.Ignored(s) { // or what we start next would not ignore it, as under nohup
				signal.Notify(ignored, s)
			}
		}
	}
	return begin, func() { signal.Stop(ignored) }
}

// nameOf is how a saved trace is named in commands: by its id, or by its file when that
// is not in the store.
func nameOf(s *store.Store, e store.Entry) string {
	if filepath.Dir(e.Path) == s.Dir() {
		return e.ID
	}
	return e.Path
}
