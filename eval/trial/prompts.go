package trial

import (
	"fmt"
	"strings"

	"tracerag/eval"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
)

// Material is what an inquiry's prompts are made of.
type Material struct {
	Input     prompt.Input
	Functions []eval.Function // of the call trees, as the prompts name them
}

// Add makes an inquiry's prompts and measures them by tokenizers, models with public
// vocabularies. They are the same for all models that are asked, so that these compare: a
// budget is in tokens of o200k_base. Each is given to save; made is told how many are done.
func (t *Trial) Add(q *eval.Inquiry, m Material, tokenizers []string, save func(eval.Variant, string) error, made func(n int)) error {
	a := &inquiry{Inquiry: q, prompts: map[eval.Variant]*prompt.Prompt{}, functions: m.Functions}
	a.sizes.tokens = map[eval.Variant]map[string]int{}
	for k, v := range t.Variants {
		made(k)
		p, err := buildVariant(m.Input, v)
		if err != nil {
			return fmt.Errorf("inquiry %s, %s: %w", q.ID, v, err)
		}
		a.prompts[v] = p
		a.sizes.tokens[v] = map[string]int{}
		for _, tokenizer := range tokenizers {
			a.sizes.tokens[v][tokenizer] = tokens.For(tokenizer).Count(p.Text)
		}
		if err := save(v, p.Text); err != nil {
			return err
		}
	}
	if err := a.measure(m.Input); err != nil {
		return fmt.Errorf("inquiry %s: %w", q.ID, err)
	}
	t.inquiries = append(t.inquiries, a)
	return nil
}

// Unknown returns what inquiries' criteria expect and their call trees have not, a line
// for each of these inquiries.
func (t *Trial) Unknown() []string {
	var out []string
	for _, q := range t.inquiries {
		if names := eval.Unknown(q.Inquiry, q.functions); len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: inquiry %s: its criteria expect functions that its call trees have not: %s", t.Name, q.ID, strings.Join(names, ", ")))
		}
	}
	return out
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
