package index

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/trace/symbol"
)

// updateRuns takes in the runs of the traces that are saved in directories and not in the store, and
// removes those of traces that are not there any more.
func updateRuns(ctx context.Context, w Store, dirs []string, r *Result) error {
	for _, dir := range dirs {
		saved := store.Open(dir)
		entries, err := saved.List()
		if err != nil {
			r.Gaps = append(r.Gaps, Gap{dir, cause(err)})
			continue
		}
		have, err := w.Traces(ctx, dir)
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, e := range entries {
			there[e.ID] = true
			if slices.Contains(have, e.ID) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			t, _, err := saved.Load(e.Path)
			if err != nil {
				r.Gaps = append(r.Gaps, Gap{e.Path, cause(err)})
				continue
			}
			if t, _, err = saved.Join(t, e); err != nil {
				r.Gaps = append(r.Gaps, Gap{e.Path, cause(err)})
			}
			run, executed := Executed(t)
			run.Trace, run.Dir = e.ID, dir
			if err := w.AddRun(ctx, run, executed); err != nil {
				return err
			}
			r.Runs++
		}
		gone := slices.DeleteFunc(have, func(id string) bool { return there[id] })
		if err := w.RemoveRuns(ctx, gone); err != nil {
			return err
		}
	}
	return nil
}

// Executed returns what a trace, or a joined one of a run and its processes, says of the functions that ran, as declarations: function
// literals are those of the function that they are in. Calls are those that the trace saw
// directly: none of a call with functions between that were not recorded.
func Executed(t *trace.Trace) (knowledge.Run, knowledge.Executed) {
	run := knowledge.Run{
		Package: cmp.Or(t.Test.Package, t.Program.MainPath), Test: t.Test.Name,
		Command:  phrase.CommandLine(t.Command),
		Snapshot: t.Program.Setting("vcs.revision"),
		Passed:   t.Exit.Known() && !t.Exit.Failed(),
	}
	var x knowledge.Executed
	at := map[knowledge.Function]int{} // Calls is 0
	number := make([]int, len(t.Functions))
	literal := make([]bool, len(t.Functions))
	inits := initNumbers(t.Functions)
	for i, f := range t.Functions {
		name, nth, lit, ok := declared(f.Name)
		if !ok {
			number[i] = -1
			continue
		}
		if name == "init" {
			nth = inits[initName{f.File, nth}]
		}
		k := knowledge.Function{Package: f.Package, Name: name, Nth: max(nth, 1), Base: path.Base(filepath.ToSlash(f.File))}
		n, known := at[k]
		if !known {
			n = len(x.Functions)
			at[k] = n
			x.Functions = append(x.Functions, k)
		}
		number[i], literal[i] = n, lit
	}
	calls := map[[2]int]int64{}
	for _, n := range t.Nodes {
		callee := number[n.Func]
		if callee < 0 {
			continue
		}
		if !literal[n.Func] {
			x.Functions[callee].Calls += n.Calls
		}
		parent := n.Parent
		if parent == trace.NoNode && n.Root == trace.RootGoroutine {
			parent = n.Go.Creator.Node()
		}
		if parent == trace.NoNode || n.Flags.Has(trace.Via) {
			continue
		}
		by := t.Nodes[parent].Func
		caller := number[by]
		if caller < 0 || caller == callee && (literal[by] || literal[n.Func]) {
			continue
		}
		calls[[2]int{caller, callee}] += n.Calls
	}
	for k, n := range calls {
		x.Calls = append(x.Calls, knowledge.Counted{Caller: k[0], Callee: k[1], Count: n})
	}
	slices.SortFunc(x.Calls, func(a, b knowledge.Counted) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
	})
	return run, x
}

// initName is a function init as linkers number them: over all files of a package.
type initName struct {
	file string
	n    int
}

// initNumbers returns the number in its file, from 1, of each function init. Only those that
// ran are known, and all of a program's do.
func initNumbers(functions []trace.Function) map[initName]int {
	var list []initName
	for _, f := range functions {
		if name, n, literal, ok := declared(f.Name); ok && name == "init" && !literal {
			list = append(list, initName{f.File, n})
		}
	}
	slices.SortFunc(list, func(a, b initName) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.n, b.n)) })
	numbers := map[initName]int{}
	for i, k := range slices.Compact(list) {
		if i > 0 && list[i-1].file == k.file {
			numbers[k] = numbers[list[i-1]] + 1
		} else {
			numbers[k] = 1
		}
	}
	return numbers
}

// declared returns the declaration that a linker's name is of: "F", "T.M" and "(*T).M"; of
// "init.2", "init" and 2. literal says that it is a function in that declaration. What is of no
// function (package initialisation, and literals in it) is not ok.
func declared(linker string) (name string, nth int, literal, ok bool) {
	s := symbol.Parse(linker)
	name = s.Declaration()
	literal = len(s.Tail) > 0 && !s.MethodValue()
	switch {
	case s.Package == "" || s.Initialiser:
		return "", 0, false, false
	case s.InitNo >= 0:
		return name, s.InitNo, literal, true
	case name == "init":
		return "", 0, false, false
	}
	return name, 1, literal, true
}
