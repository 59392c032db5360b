package prompt

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracerag/prompt/tokens"
)

// ContextSize is how many tokens the model takes that the options name.
func (o *Options) ContextSize() int {
	if o.Window != 0 {
		return o.Window
	}
	m, _ := tokens.Lookup(o.Model)
	return m.Window
}

// TokenCounter is the counter of tokens that the options choose.
func (o *Options) TokenCounter() tokens.Counter {
	if o.Counter != nil {
		return o.Counter
	}
	return tokens.For(o.Model)
}

// UseModels takes from a file with models what it says of the options' own.
func (o *Options) UseModels(file string) error {
	if file == "" || o.Model == "" {
		return nil
	}
	table, err := tokens.LoadModels(file)
	if err != nil {
		return err
	}
	if m, ok := table.Lookup(o.Model); ok {
		o.Counter = m.Counter()
		if o.Window == 0 {
			o.Window = m.Window
		}
	}
	return nil
}

// Paste gives the options of a prompt that goes into a chat by hand the budget of
// [LongFrom]: up to that it is whole, and above it is the best of it. Options that name
// a model, a budget, a template or one of the paper's variants stay as they are.
func (o *Options) Paste() {
	if o.Model == "" && o.Budget == 0 && o.Template == "" && (o.Variant == "" || o.Variant == Ordered) {
		o.Budget = LongFrom
	}
}

// LeftOut reports whether a budget left out anything of a function.
func (p *Prompt) LeftOut() bool {
	return slices.ContainsFunc(p.Shown, func(s Shown) bool { return s.Tier < TierFull && len(s.Holds) > 0 })
}

// ParseBudget reads a number of tokens: "8000", "8_000", "8k", "1.5M", or a share of
// the model's context size in tokens, "50%".
func ParseBudget(s string, contextSize int) (int, error) {
	digits, unit := strings.ToLower(strings.ReplaceAll(s, "_", "")), 1.0
	most := math.MaxInt32 / 1.0
	switch digits[max(len(digits)-1, 0):] {
	case "k":
		unit = 1000
	case "m":
		unit = 1e6
	case "%":
		unit, most = float64(contextSize)/100, float64(contextSize)
	}
	if unit != 1 {
		digits = digits[:len(digits)-1]
	}
	n, err := strconv.ParseFloat(digits, 64)
	if tokens := n * unit; err == nil && tokens >= 1 && tokens <= most && strings.Trim(digits, "0123456789.") == "" {
		return int(tokens), nil
	}
	return 0, fmt.Errorf("%s: want a number of tokens, such as 8000 or 8k, or a share of the model's context size, such as 50%%", s)
}
