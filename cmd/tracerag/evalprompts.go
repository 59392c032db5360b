package main

import (
	"fmt"
	"maps"
	"slices"

	"tracerag/calltree"
	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/eval/trial"
	"tracerag/session"
	"tracerag/trace/store"
	"tracerag/trace/symbol"
)

// makePrompts makes the prompts of a trial, of the traces of its runs.
func (a *app) makePrompts(t *trial.Trial, traces map[string]string, dir *results.Dir, s *store.Store, e *evalFlags) error {
	bar := a.progress("making prompts")
	defer bar.Close()
	for i := range t.Inquiries {
		q := &t.Inquiries[i]
		var ids []string
		for _, r := range q.Runs {
			ids = append(ids, traces[r])
		}
		a.masker().LearnText(q.Question)
		views, err := a.open(s, ids, &e.tree)
		if err != nil {
			return fmt.Errorf("inquiry %s: %w", q.ID, err)
		}
		in, err := a.session(s).PromptInput(q.Question, false, views...)
		if err != nil {
			return fmt.Errorf("inquiry %s: %w", q.ID, err)
		}
		save := func(v eval.Variant, text string) error { return dir.SavePrompt(t.Name, q.ID, v, text) }
		made := func(n int) { bar.Set(i*len(t.Variants)+n, len(t.Inquiries)*len(t.Variants)) }
		if err := t.Add(q, trial.Material{Input: in, Functions: functionsIn(views)}, e.tokenizers, save, made); err != nil {
			return err
		}
		if i == 0 {
			bar.Close()
			a.countModules(t, views[0])
		}
	}
	bar.Close()
	for _, line := range t.Unknown() {
		a.note("%s", line)
	}
	return nil
}

// countModules counts the lines of all modules in a trial's program.
func (a *app) countModules(t *trial.Trial, v *session.View) {
	defer a.wait("counting the lines of all modules")()
	whole := v.Sources.Whole()
	for _, m := range whole.Missing {
		a.note("%s: not counted, for its source is not here: %s", t.Name, m)
	}
	t.ModuleLines = whole.Lines
}

// functionsIn are the functions of trees, by the names that prompts show, in the order of
// their first calls.
func functionsIn(views []*session.View) []eval.Function {
	var all []eval.Function
	index := map[string]int{}
	callers := map[string]map[string]bool{}
	for _, v := range views {
		v.Tree.Walk(func(n *calltree.Node, _ int) bool {
			name := symbol.Short(n.Func.Name)
			if _, ok := index[name]; !ok {
				index[name] = len(all)
				callers[name] = map[string]bool{}
				text := v.Text(*n.Func)
				all = append(all, eval.Function{Name: name, File: text.Display, Start: text.Start, End: text.End})
			}
			if n.Parent != nil {
				callers[name][symbol.Short(n.Parent.Func.Name)] = true
			}
			return true
		})
	}
	for name, set := range callers {
		all[index[name]].Callers = slices.Sorted(maps.Keys(set))
	}
	return all
}
