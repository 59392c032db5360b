package metered

import (
	"context"
	"errors"
	"math"
	"testing"

	"tracerag/llm"
	"tracerag/llm/throttle"
)

// shared is a ceiling that hears what questions take.
type shared struct {
	most   throttle.Job
	cost   float64
	tokens int
	err    error
}

// Begin is of [throttle.Shared].
func (s *shared) Begin(_ context.Context, j throttle.Job) (func(float64, int), error) {
	s.most = j
	return func(cost float64, tokens int) { s.cost, s.tokens = cost, tokens }, s.err
}

// TestEmbedder holds back what texts can cost, and counts what they did: by the server's figures if it has any, and as
// the most if it may have taken a question that has no answer.
func TestEmbedder(t *testing.T) {
	const million = 1e6
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		usage  *llm.Usage
		fails  error
		first  func() // before the answer
		tokens int
		cost   float64 // in millionths of a dollar, at 2 cents for a million tokens
	}{
		"counted by the server":         {usage: &llm.Usage{PromptTokens: 50}, tokens: 50, cost: 1},
		"not counted":                   {tokens: 30, cost: 0.6},
		"refused":                       {fails: &llm.Error{Kind: llm.KindAuth}, tokens: 30},
		"no answer came":                {fails: &llm.Error{Kind: llm.KindTimeout}, tokens: 30, cost: 0.6},
		"interrupted after it was sent": {first: cancel, tokens: 30, cost: 0.6},
	} {
		ctx := ctx
		if c.first == nil {
			ctx = t.Context()
		}
		s := &shared{}
		e := NewEmbedder(EmbedderOptions{Model: "text-embedding-3-small", Count: func(text string) int { return len(text) }, Limits: throttle.Limits{Shared: s},
			Embed: func(ctx context.Context, texts []string) (llm.Embeddings, error) {
				if c.first != nil {
					c.first()
				}
				if ctx.Err() != nil {
					t.Errorf("%s: what is paid for is broken off", name)
				}
				return llm.Embeddings{Vectors: make([][]float32, len(texts)), Usage: c.usage}, c.fails
			}})
		got, err := e.Embed(ctx, []string{"0123456789", "01234567890123456789"})
		if c.fails == nil && (err != nil || len(got) != 2) || c.fails != nil && !errors.Is(err, c.fails) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if s.most.MostTokens != 30 || math.Abs(s.most.Most*million-0.6) > 1e-9 || s.tokens != c.tokens || math.Abs(s.cost*million-c.cost) > 1e-9 {
			t.Errorf("%s: at most %d tokens, $%g; took %d, $%g", name, s.most.MostTokens, s.most.Most, s.tokens, s.cost)
		}
		if final, ok := errors.AsType[*throttle.FinalError](err); ok != (name == "refused") {
			t.Errorf("%s: %v", name, final)
		}
	}
	s := &shared{err: throttle.ErrCeiling}
	e := NewEmbedder(EmbedderOptions{Model: "m", Count: func(string) int { return 1 }, Limits: throttle.Limits{Shared: s}, Embed: func(context.Context, []string) (llm.Embeddings, error) {
		t.Error("it was sent")
		return llm.Embeddings{}, nil
	}})
	if _, err := e.Embed(t.Context(), []string{"x"}); !errors.Is(err, throttle.ErrCeiling) {
		t.Error(err)
	}
}
