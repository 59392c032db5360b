package locating

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"tracerag/eval/retrieval"
	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/locate/guided"
)

// The baselines. Of the first two a text is a function, with its comment, and a file is as good as its
// best function. Of the others a text is a whole file, and no function is found.
const (
	BM25          guided.How = "bm25"
	BM25Plus      guided.How = "bm25+"
	BM25Files     guided.How = "bm25 files"
	BM25PlusFiles guided.How = "bm25+ files"
)

type scorer func(question string, texts iter.Seq[string]) []float64

var baselines = []struct {
	how   guided.How
	score scorer
	files bool // a text is a file
}{
	{BM25, retrieval.BM25, false},
	{BM25Plus, retrieval.BM25Plus, false},
	{BM25Files, retrieval.BM25, true},
	{BM25PlusFiles, retrieval.BM25Plus, true},
}

// Baselines returns their names.
func Baselines() (names []guided.How) {
	for _, b := range baselines {
		names = append(names, b.how)
	}
	return names
}

// place is a function or a file, in an order.
type place struct{ repository, file, name string }

// order is what a strategy found, the best first.
type order struct {
	functions, files, repositories []place
	// named are what the strategy says that has to be changed; nil if it says nothing.
	named []place
}

// texts are the program's files with their functions.
type texts struct {
	files     []place
	whole     []string
	functions []place
	parts     []string
}

// readTexts reads all of the program in a store. A file that cannot be read has no text.
func readTexts(ctx context.Context, store knowledge.Reader) (*texts, error) {
	repos, err := store.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	t := new(texts)
	for _, r := range repos {
		files, err := store.Product(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			text, err := lookup.ReadTree(&r, f.Path)
			if err != nil {
				continue
			}
			t.files, t.whole = append(t.files, place{r.Name, f.Path, ""}), append(t.whole, string(text))
			decls, err := store.In(ctx, []int64{f.ID})
			if err != nil {
				return nil, err
			}
			for _, d := range decls {
				if d.Kind.Callable() && d.End <= len(text) {
					t.functions = append(t.functions, place{r.Name, f.Path, d.Name})
					t.parts = append(t.parts, d.Name+"\n"+string(d.With(text)))
				}
			}
		}
	}
	return t, nil
}

// rank orders by a baseline.
func (t *texts) rank(report string, score scorer, files bool) order {
	if files {
		return order{files: ranked(score(report, slices.Values(t.whole)), t.files)}
	}
	functions := ranked(score(report, slices.Values(t.parts)), t.functions)
	return order{functions: functions, files: filesOf(functions)}
}

// ranked are the places with a score, the greatest first.
func ranked(scores []float64, of []place) []place {
	var at []int
	for i, s := range scores {
		if s > 0 {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	var out []place
	for _, i := range at[:min(len(at), deep)] {
		out = append(out, of[i])
	}
	return out
}

// filesOf are the files of places, in the order of the first of each.
func filesOf(places []place) (files []place) {
	seen := map[place]bool{}
	for _, p := range places {
		p.name = ""
		if !seen[p] {
			seen[p] = true
			files = append(files, p)
		}
	}
	return files
}
