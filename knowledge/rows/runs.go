package rows

import (
	"maps"
	"slices"

	"tracerag/knowledge"
)

// RunSource is where the functions of runs and the calls between them are read. Functions of runs and
// declarations are the same if package, name and number are.
type RunSource struct {
	// Symbols are the functions of runs that may be one of the declarations.
	Symbols func(decls []int64) Query
	// Decls are the declarations that functions of runs may be, by both: symbol, declaration, and
	// whether their files have the same name.
	Decls func(symbols []int64) Query
	// Calls are the calls of which one end is one of the functions: caller, callee, count, trace.
	Calls func(symbols []int64, end End) Query
}

// matches are declarations by functions of runs. Of several (one for each platform) those are meant
// that are in a file of the function's file's name; if none is, the function has moved, and all are.
func (from *RunSource) matches(symbols []int64) (map[int64][]int64, error) {
	here, elsewhere := map[int64][]int64{}, map[int64][]int64{}
	if len(symbols) == 0 {
		return here, nil
	}
	if err := from.Decls(symbols).Each(func(scan Scan) error {
		var symbol, decl int64
		var same bool
		if err := scan(&symbol, &decl, &same); err != nil {
			return err
		}
		if same {
			here[symbol] = append(here[symbol], decl)
		} else {
			elsewhere[symbol] = append(elsewhere[symbol], decl)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for symbol, decls := range elsewhere {
		if here[symbol] == nil {
			here[symbol] = decls
		}
	}
	return here, nil
}

// ours returns the functions of runs that are one of the declarations, each with those of them that it is.
func (from *RunSource) ours(decls []int64) (map[int64][]int64, error) {
	symbols, err := Values[int64](from.Symbols(decls))
	if err != nil {
		return nil, err
	}
	all, err := from.matches(symbols)
	for symbol, list := range all {
		list = slices.DeleteFunc(list, func(d int64) bool { return !slices.Contains(decls, d) })
		if len(list) == 0 {
			delete(all, symbol)
		} else {
			all[symbol] = list
		}
	}
	return all, err
}

type ranCall struct {
	caller, callee, count int64
	trace                 string
}

// ranEdges are the calls of runs as edges between declarations: of all, but at one end of ours.
func ranEdges(from *RunSource, decls []int64, end End) (list []knowledge.Edge, err error) {
	ours, err := from.ours(decls)
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	var ends []int64
	calls, err := All(from.Calls(slices.Sorted(maps.Keys(ours)), end), func(scan Scan) (c ranCall, err error) {
		err = scan(&c.caller, &c.callee, &c.count, &c.trace)
		ends = append(ends, c.caller, c.callee)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(ends)
	all, err := from.matches(slices.Compact(ends))
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		callers, callees := all[c.caller], all[c.callee]
		if end == Caller {
			callers = ours[c.caller]
		} else {
			callees = ours[c.callee]
		}
		for _, from := range callers {
			for _, to := range callees {
				list = append(list, knowledge.Edge{Kind: knowledge.Ran, Caller: from, Callee: to, Site: -1, Count: c.count, Trace: c.trace})
			}
		}
	}
	return list, nil
}

// ReadRuns reads the runs (trace, dir, package, test, command, revision, passed, repository) of the functions
// that are one of the declarations.
func ReadRuns(from *RunSource, decls []int64, runs func(symbols []int64) Query) ([]knowledge.Run, error) {
	ours, err := from.ours(decls)
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	return All(runs(slices.Sorted(maps.Keys(ours))), func(scan Scan) (r knowledge.Run, err error) {
		err = scan(&r.Trace, &r.Dir, &r.Package, &r.Test, &r.Command, &r.Snapshot, &r.Passed, &r.Repository)
		return r, err
	})
}
