package main

import (
	"cmp"
	"errors"

	"github.com/spf13/pflag"

	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/prompt/tokens"
)

// meteredFlags choose a model that is asked many questions, and how much that may take.
type meteredFlags struct {
	modelFlags
	model  string
	window int
	limits throttle.Limits
	flags  *pflag.FlagSet
	// transcript is the file of questions and answers; of commands that have the flag.
	transcript string
}

func (m *meteredFlags) add(f *pflag.FlagSet) {
	m.flags = f
	m.addModel(f)
	f.Float64Var(&m.limits.MaxCost, "max-cost", 0, "spend at most this many US `DOLLARS` at list prices; required for many questions to a\nmodel with a known price")
	f.Float64Var(&m.limits.PerMinute, "rate", 0, "ask at most `N` questions a minute")
	f.IntVar(&m.limits.Parallel, "parallel", 2, "ask `N` questions at a time")
	m.modelFlags.add(f)
}

// addModel adds the flags that say who is asked.
func (m *meteredFlags) addModel(f *pflag.FlagSet) {
	f.StringVar(&m.model, "model", "", "ask this `MODEL` (default: $TRACERAG_MODEL)")
	f.IntVar(&m.window, "context-window", 0, "the model takes this many `TOKENS` (default: from the table of models)")
}

// addAsked adds the flags of a model whose limits are elsewhere.
func (m *meteredFlags) addAsked(f *pflag.FlagSet) {
	m.addModel(f)
	m.modelFlags.add(f)
}

// addTranscript adds the flag --transcript.
func (m *meteredFlags) addTranscript(f *pflag.FlagSet) {
	f.StringVar(&m.transcript, "transcript", "", "write questions and answers into `FILE`, a line of JSON each")
}

func (m *meteredFlags) check() error {
	if l := m.limits; l.Parallel < 1 || !(l.PerMinute >= 0) || !(l.MaxCost > 0) && m.flags.Changed("max-cost") { // as NaN is not
		return errors.New("--parallel must be at least 1, --rate and --max-cost must be positive")
	}
	return nil
}

// told returns the model, which writes the transcript that was asked for. close ends that.
func (a *app) told(m *meteredFlags, keep metered.Keeper) (model *metered.Model, close func() error, err error) {
	if m.transcript == "" {
		model, err = a.metered(m, keep, a.masker().Text, nil)
		return model, func() error { return nil }, err
	}
	t, err := metered.NewTranscript(m.transcript)
	if err != nil {
		return nil, nil, err
	}
	if model, err = a.metered(m, keep, a.masker().Text, t.Tell); err != nil {
		return nil, nil, errors.Join(err, t.Close())
	}
	return model, t.Close, nil
}

// metered returns the model, whose answers are kept. tell hears of every exchange; nil: nobody does.
func (a *app) metered(m *meteredFlags, keep metered.Keeper, mask func(string) string, tell func(metered.Exchange)) (*metered.Model, error) {
	cfg, err := a.modelConfig(&m.modelFlags, m.model)
	if err != nil {
		return nil, err
	}
	about, _ := tokens.Lookup(cfg.Model)
	return metered.Client(cfg, metered.Options{Window: cmp.Or(m.window, about.Window), Count: tokens.For(cfg.Model).Count, Limits: m.limits, Keeper: keep, Mask: mask, Tell: tell})
}
