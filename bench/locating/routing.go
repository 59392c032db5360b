package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/bench/corpus"
	"tracerag/eval/retrieval"
	"tracerag/knowledge/knowledgetest"
	"tracerag/locate"
)

// routing asks about every case in a store of all repositories: its own as it was before
// the fix, the others as they were before their first case, and the decoys.
func routing(w io.Writer, all []*loaded, set settings) error {
	together, err := togetherWith(all, strings.Split(set.decoys, ","))
	if err != nil {
		return err
	}
	var first, third, fifth, tenth, reciprocal float64
	var rs []result
	missed := map[string]int{}
	for _, c := range all {
		c := together(c)
		a, err := c.locate(c.store, locate.Question{Text: c.Report}, locate.Default)
		if err != nil {
			return err
		}
		at := 1 + slices.IndexFunc(a.Repositories, func(r locate.Repository) bool { return r.Name == c.Repo })
		reciprocal += 1 / float64(at)
		if at == 1 {
			first++
		} else {
			missed[c.Repo]++
		}
		if at <= 3 {
			third++
		}
		var fs []found
		var files []string
		for _, f := range a.Functions {
			if f.Repository != c.Repo {
				f.File = "?"
			}
			fs = append(fs, found{f.File, f.Name})
		}
		for i, f := range a.Files {
			if f.Repository != c.Repo {
				f.File = "?"
			}
			if f.Repository == c.Repo && c.IsGoldFile(f.File) && !slices.ContainsFunc(files, c.IsGoldFile) {
				if i < 5 {
					fifth++
				}
				if i < 10 {
					tenth++
				}
			}
			files = append(files, f.File)
		}
		rs = append(rs, judge(c, fs, files))
	}
	n := float64(len(all))
	with := withFunctionsOf(rs)
	fmt.Fprintf(w, "%d repositories in one store: routing Pass@1 %.3f, Pass@3 %.3f, MRR %.3f; files Pass@5 %.3f, Pass@10 %.3f; functions any@1 %.3f, any@10 %.3f\n",
		len(together(all[0]).store.Repos), first/n, third/n, reciprocal/n, fifth/n, tenth/n,
		retrieval.Share(with, func(r result) bool { return r.Any(1) }), retrieval.Share(with, func(r result) bool { return r.Any(10) }))
	for _, m := range slices.Sorted(maps.Keys(missed)) {
		fmt.Fprintf(w, "  not first: %s %d\n", m, missed[m])
	}
	return nil
}

// togetherWith returns what puts the repositories of all cases, and decoys, into the store of a
// case.
func togetherWith(all []*loaded, decoys []string) (func(*loaded) *loaded, error) {
	others := map[string]*knowledgetest.Repository{}
	for _, c := range all {
		if others[c.Repo] == nil {
			others[c.Repo] = c.repo
		}
	}
	for _, dir := range decoys {
		r, err := readRepository(corpus.Clone(dir), filepath.Base(strings.TrimSuffix(dir, "/repo")), "HEAD")
		if err != nil {
			return nil, fmt.Errorf("decoy %s: %w", dir, err)
		}
		others[dir] = r
	}
	names := slices.Sorted(maps.Keys(others))
	return func(c *loaded) *loaded {
		store := &knowledgetest.Store{}
		for _, n := range names {
			if n == c.Repo {
				store.Repos = append(store.Repos, c.repo)
			} else {
				store.Repos = append(store.Repos, others[n])
			}
		}
		return &loaded{c.Case, c.repo, store}
	}, nil
}
