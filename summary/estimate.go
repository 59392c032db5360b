package summary

import (
	"context"
	"sync"

	"tracerag/knowledge"
	"tracerag/llm"
	"tracerag/llm/metered"
)

// Estimate is what making summaries takes, if the first reply to each question is right and of
// usual length.
type Estimate struct {
	Questions int     `json:"questions"`
	Prompt    int     `json:"prompt_tokens"`
	Answered  int     `json:"answer_tokens"`
	Cost      float64 `json:"cost_usd"`
	Priced    bool    `json:"priced"` // a price of the model is known
	Made      Made    `json:"made"`
}

// Tokens are all that are sent and answered.
func (e Estimate) Tokens() int { return e.Prompt + e.Answered }

// Estimate goes through everything that the same calls of [Maker.Files] and [Maker.Above] would
// ask, and asks nothing. With anew it is what they would ask if nothing was kept.
func (k *Maker) Estimate(ctx context.Context, r *knowledge.Repository, files []knowledge.File, anew bool) (Estimate, error) {
	book := *k.Book
	kept := &overlay{set: map[knowledge.SummaryKey]knowledge.Summary{}}
	if !anew {
		kept.below = k.Book.Kept
	}
	book.Kept = kept
	p := &pretender{Model: k.Model}
	_, p.e.Priced = llm.EstimateCost(k.Model.Name(), llm.Usage{PromptTokens: 1})
	dry := &Maker{Book: &book, Model: k.Model, pretended: p, Parallel: 1}
	if err := dry.Files(ctx, files); err != nil {
		return Estimate{}, err
	}
	err := dry.Above(ctx, r)
	p.e.Made = dry.made
	return p.e, err
}

// pretender answers with samples, and counts.
type pretender struct {
	*metered.Model
	e Estimate
}

func (p *pretender) Ask(_ context.Context, q metered.Question, sample func() string) (string, error) {
	text := sample()
	u := llm.Usage{PromptTokens: p.Count(q.System) + p.Count(q.User), CompletionTokens: p.Count(text)}
	if over := p.Count(q.User) - p.Room(system); over > 0 {
		return "", &metered.TooLongError{Kind: q.Kind, Tokens: u.PromptTokens, Room: p.Room()}
	}
	cost, _ := llm.EstimateCost(p.Name(), u)
	p.e.Questions++
	p.e.Prompt += u.PromptTokens
	p.e.Answered += u.CompletionTokens
	p.e.Cost += cost
	return text, nil
}

// overlay keeps summaries over those of a store, which stays as it is.
type overlay struct {
	below knowledge.Summaries // nil: none
	mu    sync.Mutex
	set   map[knowledge.SummaryKey]knowledge.Summary
}

func (o *overlay) Summaries(ctx context.Context, model string, keys []knowledge.SummaryKey) (map[knowledge.SummaryKey]knowledge.Summary, error) {
	out := map[knowledge.SummaryKey]knowledge.Summary{}
	if o.below != nil {
		below, err := o.below.Summaries(ctx, model, keys)
		if err != nil {
			return nil, err
		}
		out = below
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range keys {
		if x, ok := o.set[key]; ok {
			out[key] = x
		}
	}
	return out, nil
}

func (o *overlay) SetSummaries(_ context.Context, _ string, list []knowledge.Summary) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range list {
		o.set[x.SummaryKey] = x
	}
	return nil
}
