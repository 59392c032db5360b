package main

import (
	"cmp"
	"context"
	"slices"

	"tracerag/eval/retrieval"
	"tracerag/knowledge"
	"tracerag/locate"
)

// deep is how far down an order is judged.
const deep = 1000

// locateAll asks package locate about every case.
func locateAll(all []*loaded, w locate.Weights) ([]result, error) {
	out := make([]result, len(all))
	err := inParallel(len(all), func(i int) error {
		c := all[i]
		a, err := c.locate(c.store, locate.Question{Text: c.Report}, w)
		if err == nil {
			out[i] = judgeAnswer(c, a)
		}
		return err
	})
	return out, err
}

func (c *loaded) locate(store knowledge.Reader, q locate.Question, w locate.Weights) (*locate.Answer, error) {
	return locate.Locate(context.Background(), store, q, locate.Options{Weights: &w, Limit: deep, Text: c.store.Text})
}

func judgeAnswer(c *loaded, a *locate.Answer) result {
	var fs []found
	var files []string
	in := func(repository, file string) string {
		if repository != c.Repo {
			return repository + ":" + file
		}
		return file
	}
	for _, f := range a.Functions {
		fs = append(fs, found{in(f.Repository, f.File), f.Name})
	}
	for _, f := range a.Files {
		files = append(files, in(f.Repository, f.File))
	}
	return judge(c, fs, files)
}

// plainAll ranks by [retrieval.BM25], one text for each function; a file is its best function.
func plainAll(all []*loaded) []result {
	out := make([]result, len(all))
	for i, c := range all {
		functions := plain(c)
		out[i] = judge(c, functions, filesOf(functions))
	}
	return out
}

// filesOf are the files of functions, in the order of the first of each.
func filesOf(functions []found) (files []string) {
	seen := map[string]bool{}
	for _, f := range functions {
		if !seen[f.file] {
			seen[f.file] = true
			files = append(files, f.file)
		}
	}
	return files
}

func plain(c *loaded) []found {
	var all []found
	scores := retrieval.BM25(c.Report, func(yield func(string) bool) {
		c.repo.Functions(func(d *knowledge.Decl, doc, text string) {
			all = append(all, found{d.Path, d.Name})
			yield(d.Name + "\n" + doc + "\n" + text)
		})
	})
	var order []int
	for i, s := range scores {
		if s > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	out := make([]found, len(order))
	for at, i := range order {
		out[at] = all[i]
	}
	return out
}
