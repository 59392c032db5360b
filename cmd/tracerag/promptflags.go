package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"tracerag/prompt"
	"tracerag/prompt/tokens"
)

// promptFlags choose the prompt that a tree is put into.
type promptFlags struct {
	variant, at, format, template string
	model, models                 string
	window                        int
	budget                        string
	types                         bool
}

func (p *promptFlags) add(f *pflag.FlagSet) {
	var variants []string
	for _, v := range prompt.Variants {
		variants = append(variants, string(v))
	}
	addChoice(f, &p.variant, "variant", "the prompt's `VARIANT`: ordered (the tree, and each source once in call order),\nor full, A, C, CA, T (those of the paper's table 3)", variants...)
	addChoice(f, &p.at, "question", "the question's `PLACE`: first, last or both (default: the variant's own)", "", "first", "last", "both")
	addChoice(f, &p.format, "format", "the prompt's `FORMAT`: markdown, xml or json", "markdown", "xml", "json")
	f.StringVar(&p.template, "template", "", "make the prompt by the Go text/template in `FILE` (tracerag prompt --template=help\nexplains them)")
	f.StringVar(&p.models, "models", "", "context windows by model from `FILE`, before the built-in table")
	f.StringVar(&p.budget, "budget", "", "make the prompt fit into `SIZE` tokens (8000, 8k, or 50% of the model's context size):\nthe least relevant functions are left out, and each gap is marked")
	f.BoolVar(&p.types, "types", false, "add the types, constants and package variables that the functions name (with --budget\nthe default variant has them)")
	f.IntVar(&p.window, "context-window", 0, "the model takes this many `TOKENS` (default: from the table of models)")
}

// addModel is apart, since run and ask put it beside the endpoint's flags.
func (p *promptFlags) addModel(f *pflag.FlagSet) {
	f.StringVar(&p.model, "model", "", "the `MODEL` that is asked, and whose tokens are counted (default: $TRACERAG_MODEL)")
}

// options returns what the flags say, for the model that will be asked.
func (a *app) promptOptions(p *promptFlags) (prompt.Options, error) {
	o := prompt.Options{
		Variant: prompt.Variant(p.variant), QuestionAt: prompt.Placement(p.at), Format: prompt.Format(p.format), Model: p.model, Window: p.window, Types: p.types,
	}
	if o.Model == "" {
		o.Model = cmp.Or(a.getenv("TRACERAG_MODEL"), a.getenv("OPENAI_MODEL"))
	}
	if err := o.UseModels(p.models); err != nil {
		return o, err
	}
	if p.template != "" {
		data, err := os.ReadFile(p.template)
		if err != nil {
			return o, fmt.Errorf("--template: %w", err)
		}
		o.Template = string(data)
	}
	if p.budget != "" {
		var err error
		if o.Budget, err = prompt.ParseBudget(p.budget, o.ContextSize()); err != nil {
			return o, fmt.Errorf("--budget=%w", err)
		}
	}
	return o, nil
}

// loadVocabulary begins to read what the prompt will be counted by, while the traces and the
// sources are read.
func (a *app) loadVocabulary(p *promptFlags) {
	without := *p
	without.template, without.budget = "", "" // which may be a pipe, to be read once
	if o, err := a.promptOptions(&without); err == nil {
		go cmp.Or(o.Counter, tokens.For(o.Model)).Count(" ")
	}
}

// warnings prints what a prompt's warnings say, the first few in full.
func (a *app) warnings(p *prompt.Prompt) {
	const most = 5
	for i, w := range p.Warnings {
		if i == most && len(p.Warnings) > most+1 {
			a.note("and %d more warnings like these: tracerag prompt --json lists them", len(p.Warnings)-most)
			return
		}
		a.note("%s", w)
	}
	if p.Budget == prompt.LongFrom && p.LeftOut() && !a.quiet {
		a.note("this is the best of a longer prompt, since answers get worse with length alone")
		a.hint("--budget=1M has all of it")
	}
	if p.Total >= prompt.LongFrom && p.Left >= 0 && !a.quiet { // where it does not fit, the error says so
		a.hint("make it shorter with --budget, --focus or --baseline, or record fewer packages (run --include)")
	}
}
