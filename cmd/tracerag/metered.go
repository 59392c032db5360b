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
}

func (m *meteredFlags) add(f *pflag.FlagSet) {
	m.flags = f
	f.StringVar(&m.model, "model", "", "ask this `MODEL` (default: $TRACERAG_MODEL)")
	f.IntVar(&m.window, "context-window", 0, "the model takes this many `TOKENS` (default: from the table of models)")
	f.Float64Var(&m.limits.MaxCost, "max-cost", 0, "spend at most this many US `DOLLARS` at list prices; required for many questions to a\nmodel with a known price")
	f.Float64Var(&m.limits.PerMinute, "rate", 0, "ask at most `N` questions a minute")
	f.IntVar(&m.limits.Parallel, "parallel", 2, "ask `N` questions at a time")
	m.modelFlags.add(f)
}

func (m *meteredFlags) check() error {
	if l := m.limits; l.Parallel < 1 || !(l.PerMinute >= 0) || !(l.MaxCost > 0) && m.flags.Changed("max-cost") { // as NaN is not
		return errors.New("--parallel must be at least 1, --rate and --max-cost must be positive")
	}
	return nil
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
