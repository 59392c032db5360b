package guided

import (
	"cmp"
	"context"
	"slices"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/summary"
)

const (
	// detailed is how many functions are shown with all that is known of them. Of the others
	// named have their names shown, and behind them all functions of namedFiles files.
	// bench/locating measures them: what a fix changed is among the first 40 functions in 58 of
	// 64 cases, among the first 100 in 60, and in one of the first 30 files in all.
	detailed, named, namedFiles = 40, 60, 30
	// chosenFunctions is how many functions a model is asked for.
	chosenFunctions = 10
	// rerankTokens is how long the list may be.
	rerankTokens = 15000
)

// rerank asks one question about the best candidates: which are likeliest? Behind those are the
// names of what else their files declare.
func (g *Guide) rerank(ctx context.Context, q locate.Question) (*Answer, error) {
	t, err := g.begin(ctx, q, Rerank)
	if err != nil {
		return nil, err
	}
	best := t.found.Candidates()
	if len(best) == 0 {
		t.note("rerank: no function has a word of the report, so the model was not asked")
		return t.end(locate.Order{}, nil)
	}
	files, err := t.filesOf(best)
	if err != nil {
		return t.end(locate.Order{}, err)
	}
	all, err := t.functionsOf(files[:min(len(files), namedFiles)], best[:min(len(best), detailed+named)])
	if err != nil {
		return t.end(locate.Order{}, err)
	}
	functions, err := t.chooseFunctions("rerank", "Which of these functions is the report about: which would a fix of it change?", all, rerankTokens)
	return t.end(locate.Order{Functions: functions}, err)
}

// functionsOf returns functions, and behind them the others of files.
func (t *task) functionsOf(files []knowledge.File, first []knowledge.Decl) ([]knowledge.Decl, error) {
	at := map[int64]int{}
	var ids []int64
	for i, f := range files {
		at[f.ID] = i
		ids = append(ids, f.ID)
	}
	decls, err := t.Store.In(t.ctx, ids)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(decls, func(a, b knowledge.Decl) int {
		return cmp.Or(cmp.Compare(at[a.File], at[b.File]), cmp.Compare(a.Start, b.Start))
	})
	seen := map[int64]bool{}
	for _, d := range first {
		seen[d.ID] = true
	}
	out := slices.Clone(first)
	for i := range decls {
		if d := &decls[i]; !seen[d.ID] && t.found.Admits(d) {
			out = append(out, *d)
		}
	}
	return out, nil
}

// chooseFunctions asks for the likeliest of functions. The first ones are shown with all that
// is known of them.
func (t *task) chooseFunctions(kind, ask string, all []knowledge.Decl, tokens int) ([]locate.Chosen, error) {
	details, err := t.details(all[:min(len(all), detailed)])
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	items := make([]item, len(all))
	for i := range all {
		var known *summary.Decl
		if d, ok := details[all[i].ID]; ok && i < detailed {
			known = &d
		}
		items[i] = t.functionItem(&all[i], known, texts)
	}
	picks, err := t.choose(query{kind: kind, ask: ask, items: items, most: chosenFunctions, tokens: tokens, last: true})
	var out []locate.Chosen
	for i, p := range picks {
		out = append(out, chosen(all[p.at], i+1, p.why))
	}
	return out, err
}
