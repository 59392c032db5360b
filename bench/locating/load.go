package main

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"tracerag/bench/corpus"
	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
)

// loaded is a case with its repository as it was before the fix.
type loaded struct {
	*corpus.Case
	repo  *knowledgetest.Repository
	store *knowledgetest.Store
}

// load reads the repositories of all cases, on all processors.
func load(cases []*corpus.Case, clones string) ([]*loaded, error) {
	out := make([]*loaded, len(cases))
	return out, inParallel(len(cases), func(i int) error {
		c := cases[i]
		clone, err := corpus.FindClone(clones, c.Repo)
		if err != nil {
			return err
		}
		r, err := readRepository(clone, c.Repo, c.Base)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		out[i] = &loaded{c, r, &knowledgetest.Store{Repos: []*knowledgetest.Repository{r}}}
		return nil
	})
}

// inParallel calls work with 0 to n-1, on all processors.
func inParallel(n int, work func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for i := range n {
		free <- true
		wg.Go(func() {
			errs[i] = work(i)
			<-free
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// parser has what it read of one commit for the next.
var parser knowledgetest.Parser

// readRepository reads a commit, and the history up to it.
func readRepository(clone corpus.Clone, name, commit string) (*knowledgetest.Repository, error) {
	files, err := clone.Files(commit, func(name string) bool {
		base := path.Base(name)
		return strings.HasSuffix(name, ".go") || base == "go.mod" || base == "go.work"
	})
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, f := range files {
		texts[f.Name] = f.Text
	}
	commits, err := history(clone, commit)
	if err != nil {
		return nil, err
	}
	return parser.Parse(name, texts, commits), nil
}

// history returns the last commits that changed Go files, up to and with one.
func history(clone corpus.Clone, commit string) ([]knowledge.Commit, error) {
	out, err := clone.Git(nil, "log", "-n", "2000", "--no-merges", "--name-only", "--format=%x01%H%x00%ct%x00%s", commit, "--", "*.go")
	if err != nil {
		return nil, err
	}
	var commits []knowledge.Commit
	for entry := range strings.SplitSeq(string(out), "\x01") {
		head, names, _ := strings.Cut(entry, "\n")
		f := strings.Split(head, "\x00")
		if len(f) != 3 {
			continue
		}
		seconds, _ := strconv.ParseInt(f[1], 10, 64)
		commits = append(commits, knowledge.Commit{ID: f[0], Time: time.Unix(seconds, 0), Subject: f[2], Files: strings.Fields(names)})
	}
	return commits, nil
}
