package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/trace/store"
	"tracerag/trace/symbol"
)

// sizes are the figures of an inquiry in the tables 8 and 9.
type sizes struct {
	tokens           map[eval.Variant]map[string]int // by tokenizer
	files, fileLines int
	fullLines        int
}

// makePrompts makes the prompts of a trial, saves and measures them. They are the
// same for all models, so that these compare: a budget is in tokens of o200k_base.
func (a *app) makePrompts(t *trial, traces map[string]string, dir *results.Dir, s *store.Store, e *evalFlags) error {
	bar := a.progress("making prompts")
	defer bar.close()
	for i := range t.Inquiries {
		q := &asked{Inquiry: &t.Inquiries[i], prompts: map[eval.Variant]*prompt.Prompt{}}
		q.sizes.tokens = map[eval.Variant]map[string]int{}
		var ids []string
		for _, r := range q.Runs {
			ids = append(ids, traces[r])
		}
		var err error
		a.masker().LearnText(q.Question)
		if q.views, err = a.open(s, ids, &e.tree); err != nil {
			return fmt.Errorf("inquiry %s: %w", q.ID, err)
		}
		in, err := a.fullInput(q.Question, q.views, &promptFlags{})
		if err != nil {
			return fmt.Errorf("inquiry %s: %w", q.ID, err)
		}
		for k, v := range t.Variants {
			bar.set(i*len(t.Variants)+k, len(t.Inquiries)*len(t.Variants))
			p, err := buildVariant(in, v)
			if err != nil {
				return fmt.Errorf("inquiry %s, %s: %w", q.ID, v, err)
			}
			q.prompts[v] = p
			q.sizes.tokens[v] = map[string]int{}
			for _, m := range e.tokenizers {
				q.sizes.tokens[v][m] = tokens.For(m).Count(p.Text)
			}
			if err := dir.SavePrompt(t.Name, q.ID, v, p.Text); err != nil {
				return err
			}
		}
		if err := q.measure(in); err != nil {
			return fmt.Errorf("inquiry %s: %w", q.ID, err)
		}
		t.inquiries = append(t.inquiries, q)
	}
	bar.close()
	for _, q := range t.inquiries {
		if names := eval.Unknown(q.Inquiry, q.functions()); len(names) > 0 {
			a.note("%s: inquiry %s: its criteria expect functions that its call trees have not: %s", t.Name, q.ID, strings.Join(names, ", "))
		}
	}
	t.closureLines = a.closure(t)
	return nil
}

func buildVariant(in prompt.Input, v eval.Variant) (*prompt.Prompt, error) {
	name, budget := v.Split()
	o := prompt.Options{Variant: prompt.Variant(name)}
	if budget != "" {
		var err error
		if o.Budget, err = prompt.ParseBudget(budget, o.ContextSize()); err != nil {
			return nil, err
		}
	}
	return prompt.Build(in, o)
}

// measure counts the files that the prompts' functions come from.
func (q *asked) measure(in prompt.Input) error {
	full := q.prompts[eval.Variant(prompt.Full)]
	if full == nil {
		var err error
		if full, err = prompt.Build(in, prompt.Options{Variant: prompt.Full}); err != nil {
			return err
		}
	}
	q.sizes.fullLines = strings.Count(full.Text, "\n")
	var err error
	if q.sizes.files, q.sizes.fileLines, err = prompt.Files(in); err != nil {
		return err
	}
	return nil
}

// closure counts the lines of all modules in a trial's program.
func (a *app) closure(t *trial) int {
	defer a.wait("counting the lines of all modules")()
	whole := t.inquiries[0].views[0].Sources.Whole()
	for _, m := range whole.Missing {
		a.note("%s: not counted, for its source is not here: %s", t.Name, m)
	}
	return whole.Lines
}

// functions are those of an inquiry's trees, by the names that the prompts show, in
// the order of their first calls.
func (q *asked) functions() []eval.Function {
	var all []eval.Function
	index := map[string]int{}
	callers := map[string]map[string]bool{}
	for _, v := range q.views {
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
