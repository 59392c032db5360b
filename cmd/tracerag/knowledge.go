package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sources"
	"tracerag/knowledge/stores"
	"tracerag/phrase"
	"tracerag/trace/store"
)

// knowledgeFlags choose what is known of repositories.
type knowledgeFlags struct {
	said string // on the command line
	used string // or by the environment; "" for the default
}

// knowledgeVariable names the knowledge base where no flag does. Other users can't see it, as they can a
// command line, so it may have a password.
const knowledgeVariable = "TRACERAG_KNOWLEDGE"

func (k *knowledgeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&k.said, "knowledge", "", "keep what is known of repositories in `FILE`, or in a database: postgres://USER@HOST/DATABASE\n(default: $"+knowledgeVariable+", or knowledge.db beside the traces)")
}

// place is where it is, by the directory of traces.
func (a *app) place(k *knowledgeFlags, traces string) (*stores.Place, error) {
	k.used = cmp.Or(k.said, a.getenv(knowledgeVariable))
	clones, err := os.UserCacheDir()
	if err == nil {
		clones = filepath.Join(clones, "tracerag", "repositories")
	}
	p, err := stores.At(cmp.Or(k.used, filepath.Join(traces, "knowledge.db")), clones)
	if err != nil {
		return nil, err
	}
	password, inURL := p.Secret()
	a.masker().LearnPassword(password)
	if inURL && k.said != "" {
		return nil, errors.New("other users of this machine can see the password in a command line\nset PGPASSWORD or $" + knowledgeVariable + ", or put it into ~/.pgpass; and choose another one")
	}
	return p, nil
}

// moduleRoot is the root of the module around, or the working directory.
func (a *app) moduleRoot() string {
	dir, err := store.Locate("", "", a.cwd)
	if err != nil {
		return a.cwd
	}
	return filepath.Dir(dir)
}

// copyKnowledge copies what is known to another place.
func (a *app) copyKnowledge(ctx context.Context, k *knowledgeFlags, traces, to string) error {
	from, err := a.place(k, traces)
	if err != nil {
		return err
	}
	target, err := a.place(&knowledgeFlags{said: to}, traces)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	var rows int
	done := a.wait("copying " + from.String())
	err = stores.Copy(ctx, from, target, func(n int) { rows = n })
	done()
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: nothing was copied")
	}
	if err == nil {
		a.note("copied %s to %s: %s", from, target, phrase.Plural(rows, "row", "rows"))
	}
	return err
}

// knowledge opens what is known of repositories, up to date as far as that takes little time.
// The module around is indexed where nothing is known of it yet.
func (a *app) knowledge(ctx context.Context, k *knowledgeFlags, traces string) (knowledge.Store, error) {
	root := a.moduleRoot()
	place, err := a.place(k, traces)
	if err != nil {
		return nil, err
	}
	if !place.Exists() && !isProject(root) {
		return nil, noProject(root)
	}
	s, err := place.Open(ctx)
	if err != nil {
		return nil, err
	}
	o := index.Options{Traces: []string{traces}}
	known, err := k.knows(ctx, s, root)
	if err == nil && !known && !isProject(root) {
		err = noProject(root)
	}
	if err == nil && !known {
		a.note("indexing %s, once", root)
		first := o
		first.Calls = index.CallsWithin(mostCalls)
		_, err = a.takeIn(ctx, s, root, first)
	}
	if err == nil && known {
		var left []*index.Staleness
		left, err = index.Refresh(ctx, s, index.RefreshLimit, nil, o)
		for _, l := range left {
			a.complain("%s is stale: %s\n  %s", l.Repository.Name, l.String(), k.freshen(l))
		}
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// freshen is the command line after which a repository is not stale.
func (k *knowledgeFlags) freshen(l *index.Staleness) string {
	line := []string{"tracerag", "index"}
	if k.said != "" {
		line = append(line, "--knowledge", k.said)
	}
	if l.Missing != nil {
		return phrase.CommandLine(append(line, "--forget", l.Repository.Name)) + " removes it from the index"
	}
	return phrase.CommandLine(append(line, cmp.Or(l.Repository.URL, l.Repository.Root))) + " brings it up to date"
}

// isProject reports whether a directory is one that may be indexed without being named: that of
// a module or workspace, or in a git repository. A home directory or "/" is none, and takes hours.
func isProject(dir string) bool {
	for _, name := range []string{"go.mod", "go.work"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

func noProject(dir string) error {
	return fmt.Errorf("%s is in no Go module and no git repository, so it was not indexed: go to a module, or name what to index: tracerag index DIR", dir)
}

// sources is what is known of repositories for a face, up to date. It indexes the module around
// where nothing is known of it yet, if it may do so without being asked.
func (a *app) sources(k *knowledgeFlags, traces string, unasked bool) *sources.Sources {
	return sources.New(func(ctx context.Context, mayIndex bool) (index.Store, error) {
		if !mayIndex && !unasked {
			if err := a.indexed(ctx, k, traces); err != nil {
				return nil, err
			}
		}
		return a.knowledge(ctx, k, traces)
	}, index.Options{Traces: []string{traces}})
}

// indexed returns [knowledge.ErrNotIndexed] where knowledge would index. It makes no file.
func (a *app) indexed(ctx context.Context, k *knowledgeFlags, traces string) error {
	place, err := a.place(k, traces)
	if err != nil {
		return err
	}
	s, err := place.OpenRead(ctx)
	if errors.Is(err, knowledge.ErrNotIndexed) {
		return knowledge.ErrNotIndexed
	}
	if err != nil {
		return err
	}
	defer s.Close()
	known, err := k.knows(ctx, s, a.moduleRoot())
	if err == nil && !known {
		err = knowledge.ErrNotIndexed
	}
	return err
}

// knows reports whether a store has what the command asks about: some repository if the user
// named the place, and else that of the module around.
func (k *knowledgeFlags) knows(ctx context.Context, s knowledge.Store, root string) (bool, error) {
	list, err := s.Repositories(ctx)
	if err != nil || k.used != "" {
		return len(list) > 0, err
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	return slices.ContainsFunc(list, func(r knowledge.Repository) bool {
		below, err := filepath.Rel(r.Root, root)
		return err == nil && filepath.IsLocal(below)
	}), nil
}

// mostCalls is how long calls may take without being asked for. The rest of an index takes a
// second, and memory grows with the time: 200 MiB for esbuild, which takes 8 seconds.
const mostCalls = 15 * time.Second

// takeIn takes one repository in.
func (a *app) takeIn(ctx context.Context, s knowledge.Store, target string, o index.Options) (*index.Report, error) {
	clones, err := os.UserCacheDir()
	if err != nil && index.IsURL(target) {
		return nil, err
	}
	below := filepath.Join(clones, "tracerag", "repositories")
	if index.IsURL(target) {
		release, err := index.Hold(ctx, target, below, func() { a.note("another tracerag uses the clone of %s: waiting for it", index.Shown(target)) })
		if err != nil {
			return nil, err
		}
		defer release()
	}
	done := a.wait("cloning " + index.Shown(target))
	place, err := index.Locate(ctx, target, below)
	done()
	if err != nil {
		return nil, err
	}
	bar := a.progress("files")
	defer bar.Close()
	o.URL, o.Progress = place.URL, bar.Set
	r, err := index.Update(ctx, s, place.Dir, o)
	if err != nil {
		return nil, err
	}
	n, err := s.Counts(ctx, r.Repository.ID)
	report := index.NewReport(r, n)
	return &report, err
}
