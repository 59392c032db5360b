package llm

import (
	"math"
	"strings"
	"testing"
)

func TestEstimateCost(t *testing.T) {
	mine := Prices{"gpt-4o": {Input: 1, Output: 1}, "my-model": {Input: 2, Cached: 1, Output: 4}}
	for _, test := range []struct {
		name   string
		prices Prices
		model  string
		usage  Usage
		usd    float64
		ok     bool
	}{
		{"plain", nil, "gpt-4o", Usage{PromptTokens: 1_000_000, CompletionTokens: 100_000}, 2.5 + 1, true},
		{"a release of the model", nil, "gpt-4o-2024-08-06", Usage{PromptTokens: 1_000_000}, 2.5, true},
		{"Anthropic's way to date one", nil, "claude-sonnet-4-6-20260218", Usage{PromptTokens: 100_000}, 0.3, true},
		{"a router's prefix, capitals", nil, "openai/GPT-4o", Usage{PromptTokens: 1_000_000}, 2.5, true},
		{"cached input", nil, "gpt-4o", Usage{PromptTokens: 1_000_000, CachedTokens: 600_000}, 0.4*2.5 + 0.6*1.25, true},
		{"more cached than sent", nil, "gpt-4o", Usage{PromptTokens: 1_000_000, CachedTokens: 5_000_000}, 1.25, true},
		{"no price for cached input: the full one", nil, "gpt-5-pro", Usage{PromptTokens: 1_000_000, CachedTokens: 1_000_000}, 15, true},
		{"a long prompt", nil, "gemini-2.5-pro", Usage{PromptTokens: 400_000, CompletionTokens: 10_000}, 0.4*2.5 + 0.01*15, true},
		{"not yet long", nil, "gemini-2.5-pro", Usage{PromptTokens: 200_000}, 0.25, true},
		{"thinking in the total alone is charged", nil, "gemini-2.5-flash", Usage{PromptTokens: 1000, CompletionTokens: 10, TotalTokens: 1_001_000}, 0.0003 + 2.5, true},
		{"thinking within the completion is not charged twice", nil, "gpt-5", Usage{CompletionTokens: 1_000_000, TotalTokens: 1_000_000, ReasoningTokens: 900_000}, 10, true},
		{"the caller's price comes first", mine, "gpt-4o", Usage{PromptTokens: 1_000_000}, 1, true},
		{"the caller's model", mine, "my-model", Usage{PromptTokens: 1_000_000, CachedTokens: 500_000}, 1.5, true},
		{"the caller's table leaves the rest", mine, "gpt-5", Usage{CompletionTokens: 100_000}, 1, true},
		{"unknown", nil, "qwen3:30b", Usage{PromptTokens: 1}, 0, false},
		{"a longer name is another model", nil, "gpt-5-superb", Usage{PromptTokens: 1}, 0, false},
		{"no name", nil, "", Usage{PromptTokens: 1}, 0, false},
	} {
		usd, ok := test.prices.EstimateCost(test.model, test.usage)
		if ok != test.ok || math.Abs(usd-test.usd) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v, %v", test.name, usd, ok, test.usd, test.ok)
		}
	}
}

// TestPricesAreSane catches slips in the table: a price in cents, a column swapped.
func TestPricesAreSane(t *testing.T) {
	for model, p := range listPrices {
		if vectors := strings.HasPrefix(model, "text-embedding-"); vectors != (p.Output == 0) { // there is no text in an answer
			t.Errorf("%s: %+v", model, p)
		} else if p.Input <= 0 || p.Output <= p.Input && !vectors || p.Cached < 0 || p.Cached > p.Input || p.Output > 200 {
			t.Errorf("%s: %+v", model, p)
		}
		if p.LongFrom != 0 && (p.LongInput < p.Input || p.LongOutput < p.Output || p.LongFrom < 100_000) {
			t.Errorf("%s: %+v", model, p)
		}
	}
}
