package rows

import (
	"cmp"
	"slices"

	"tracerag/knowledge"
)

// Matches are declarations by functions of runs. Functions of runs and declarations are the same if
// package, name and number are. Of several (one for each platform) those are meant that are in a
// file of the function's file's name; if none is, the function has moved, and all are.
type Matches struct{ here, elsewhere map[int64][]int64 }

// Add takes in a declaration that a function may be; same says that its file has the same name.
func (m *Matches) Add(symbol, decl int64, same bool) {
	if m.here == nil {
		m.here, m.elsewhere = map[int64][]int64{}, map[int64][]int64{}
	}
	if same {
		m.here[symbol] = append(m.here[symbol], decl)
	} else {
		m.elsewhere[symbol] = append(m.elsewhere[symbol], decl)
	}
}

// All returns the declarations of each function.
func (m *Matches) All() map[int64][]int64 {
	for symbol, decls := range m.elsewhere {
		if m.here[symbol] == nil {
			m.here[symbol] = decls
		}
	}
	return m.here
}

// Ours returns the functions that are one of the declarations, each with those of them that it is.
func (m *Matches) Ours(decls []int64) map[int64][]int64 {
	all := m.All()
	for symbol, list := range all {
		list = slices.DeleteFunc(list, func(d int64) bool { return !slices.Contains(decls, d) })
		if len(list) == 0 {
			delete(all, symbol)
		} else {
			all[symbol] = list
		}
	}
	return all
}

// RanCall is a call between functions of a run.
type RanCall struct {
	Caller, Callee, Count int64
	Trace                 string
}

// Ends returns the functions of calls, each once.
func Ends(calls []RanCall) []int64 {
	var ends []int64
	for _, c := range calls {
		ends = append(ends, c.Caller, c.Callee)
	}
	slices.Sort(ends)
	return slices.Compact(ends)
}

// RanEdges are calls as edges between declarations: of all, but at one end, that of the caller or
// of the callee, of ours.
func RanEdges(calls []RanCall, all, ours map[int64][]int64, ofCaller bool) (list []knowledge.Edge) {
	for _, c := range calls {
		callers, callees := all[c.Caller], all[c.Callee]
		if ofCaller {
			callers = ours[c.Caller]
		} else {
			callees = ours[c.Callee]
		}
		for _, from := range callers {
			for _, to := range callees {
				list = append(list, knowledge.Edge{Kind: knowledge.Ran, Caller: from, Callee: to, Site: -1, Count: c.Count, Trace: c.Trace})
			}
		}
	}
	return list
}

// SortEdges puts edges into the order in which stores return them.
func SortEdges(list []knowledge.Edge) {
	slices.SortFunc(list, func(a, b knowledge.Edge) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Trace, b.Trace))
	})
}
