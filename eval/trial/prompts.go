package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tracerag/calltree"
	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/session"
	"tracerag/trace/symbol"
)

// material is what an inquiry's prompts are made of.
type material struct {
	input     prompt.Input
	functions []eval.Function // of the call trees, as the prompts name them
}

// Maker makes prompts.
type Maker struct {
	Dir        *results.Dir
	Session    *session.Session
	Tree       session.TreeOptions
	Tokenizers []string // models with public vocabularies, by which prompts are measured
	Progress   func(done, all int)
	Note       func(error)
}

// Make makes the prompts of a trial, of the traces of its runs by their names. They are
// the same for all models that are asked, so that these compare: a budget is in tokens of
// o200k_base.
func (m *Maker) Make(t *Trial, traces map[string]string) error {
	for i := range t.Inquiries {
		q := &t.Inquiries[i]
		var ids []string
		for _, r := range q.Runs {
			ids = append(ids, traces[r])
		}
		m.Session.Mask.LearnText(q.Question)
		views, err := m.Session.Open(ids, m.Tree)
		if err != nil {
			return fmt.Errorf("inquiry %s: %w", q.ID, err)
		}
		in, err := m.Session.PromptInput(q.Question, views...)
		if err != nil {
			return fmt.Errorf("inquiry %s: %w", q.ID, err)
		}
		made := func(n int) { m.Progress(i*len(t.Variants)+n, len(t.Inquiries)*len(t.Variants)) }
		if err := m.add(t, q, material{in, functionsIn(views)}, made); err != nil {
			return err
		}
		if i == 0 {
			whole := views[0].Sources.Whole()
			for _, missing := range whole.Missing {
				m.Note(fmt.Errorf("%s: not counted: its source is not on this machine: %s", t.Name, missing))
			}
			t.ModuleLines = whole.Lines
		}
	}
	for _, q := range t.inquiries {
		if names := eval.Unknown(q.Inquiry, q.functions); len(names) > 0 {
			m.Note(fmt.Errorf("%s: inquiry %s: expected functions are missing from its call trees: %s", t.Name, q.ID, strings.Join(names, ", ")))
		}
	}
	return nil
}

// add makes, measures and saves an inquiry's prompts. It calls made with how many are done.
func (m *Maker) add(t *Trial, q *eval.Inquiry, of material, made func(n int)) error {
	a := &inquiry{Inquiry: q, prompts: map[eval.Variant]*prompt.Prompt{}, functions: of.functions}
	a.sizes.tokens = map[eval.Variant]map[string]int{}
	if slices.Contains(t.Variants, eval.Rounds) {
		a.making = new(sync.Mutex)
		a.rounds = func() (*prompt.Rounds, error) { return prompt.NewRounds(of.input, prompt.Options{}) }
	}
	for k, v := range t.Variants {
		made(k)
		p, err := a.build(of.input, v)
		if err != nil {
			return fmt.Errorf("inquiry %s, %s: %w", q.ID, v, err)
		}
		a.prompts[v] = p
		a.sizes.tokens[v] = map[string]int{}
		for _, tokenizer := range m.Tokenizers {
			a.sizes.tokens[v][tokenizer] = tokens.For(tokenizer).Count(p.Text)
		}
		if err := m.Dir.SavePrompt(t.Name, q.ID, v, p.Text); err != nil {
			return err
		}
	}
	if err := a.measure(of.input); err != nil {
		return fmt.Errorf("inquiry %s: %w", q.ID, err)
	}
	t.inquiries = append(t.inquiries, a)
	return nil
}

// build makes the prompt of a variant, of one that is asked in rounds the first.
func (q *inquiry) build(in prompt.Input, v eval.Variant) (*prompt.Prompt, error) {
	if v == eval.Rounds {
		r, err := q.rounds()
		if err != nil {
			return nil, err
		}
		p := r.First()
		q.mostTokens = r.MostTokens(p)
		return p, nil
	}
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
func (q *inquiry) measure(in prompt.Input) error {
	full := q.prompts[eval.Variant(prompt.Full)]
	if full == nil {
		var err error
		if full, err = prompt.Build(in, prompt.Options{Variant: prompt.Full}); err != nil {
			return err
		}
	}
	q.sizes.fullLines = strings.Count(full.Text, "\n")
	var err error
	q.sizes.files, q.sizes.fileLines, err = prompt.Files(in)
	return err
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
