package prompt

import (
	"slices"
	"strings"

	"tracerag/trace"
	"tracerag/trace/symbol"
)

// A change of a function often is one of how it is called, and a question about it is
// answered by who calls it and with what. So those that call the best functions directly
// count as relevant, less than these: a function is one of the best if it has half of the
// best one's score, and one of the first few.
const (
	bestShare = .5
	bestCount = 5
	leadShare = .3 // of the score of the function that is called
)

// lead raises the scores of the functions that call the best ones, and notes the names
// that their excerpts are about.
func (f *fitter) lead(at map[*item]int) {
	if !f.asked {
		return
	}
	order := make([]int, len(f.units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case f.units[a].Score > f.units[b].Score:
			return -1
		case f.units[a].Score < f.units[b].Score:
			return 1
		}
		return 0
	})
	best := map[*item]*unit{}
	for n, i := range order {
		u := &f.units[i]
		if n == bestCount || u.Score < bestShare*f.units[order[0]].Score || u.Score <= 0 {
			break
		}
		c := *u
		best[u.it] = &c
	}
	for i := range f.m.runs {
		for n := range nodes(f.m.runs[i].tree) {
			callee := best[f.m.items[*n.Func]]
			if callee == nil || n.Parent == nil {
				continue
			}
			caller := f.m.items[*n.Parent.Func]
			k, ok := at[caller]
			if !ok || best[caller] != nil {
				continue
			}
			f.m.leads(caller, *n.Func)
			if s := callee.Score * leadShare; s > f.units[k].Score {
				f.units[k].Score, f.units[k].why = s, "calls "+callee.it.name
			}
		}
	}
}

// leads notes that the excerpt of a function is about its calls of another.
func (m *material) leads(caller *item, callee trace.Function) {
	name := strings.TrimSuffix(symbol.Local(callee.Name), "-fm")
	name = name[strings.LastIndexByte(name, '.')+1:]
	if m.calls[caller] == nil {
		m.calls[caller] = map[string]bool{}
	}
	m.calls[caller][strings.ToLower(name)] = true
}
