package metered

import (
	"context"
	"fmt"

	"tracerag/llm"
	"tracerag/llm/throttle"
)

// EmbedderOptions say who makes vectors and within which limits.
type EmbedderOptions struct {
	Model  string
	Embed  func(ctx context.Context, texts []string) (llm.Embeddings, error) // of an [llm.Client]
	Count  func(string) int                                                  // tokens of a text
	Limits throttle.Limits
}

// Embedder has a model make vectors under limits: a question is a list of texts. It may be used by several goroutines.
type Embedder struct {
	o     EmbedderOptions
	meter *throttle.Meter
}

// NewEmbedder returns an embedder.
func NewEmbedder(o EmbedderOptions) *Embedder {
	return &Embedder{o, throttle.NewMeter(o.Limits)}
}

// Name is the model's name.
func (e *Embedder) Name() string { return e.o.Model }

// Embed returns a vector for each text. What was sent comes to its end when ctx does, since it is paid for. The error is
// one of [throttle.Meter.Ask].
func (e *Embedder) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	sent := 0
	for _, t := range texts {
		sent += e.o.Count(t)
	}
	most, priced := llm.EstimateCost(e.o.Model, llm.Usage{PromptTokens: sent})
	name := fmt.Sprintf("vectors of %d texts", len(texts))
	err = e.meter.Ask(ctx, throttle.Job{Name: name, Model: e.o.Model, Tokens: sent, Most: most, MostTokens: sent, Used: func() int { return sent }, Ask: func(ctx context.Context) (float64, error) {
		got, err := e.o.Embed(context.WithoutCancel(ctx), texts)
		if err != nil {
			err, taken := Classify(ctx, llm.Answer{}, err)
			if !taken {
				return 0, err
			}
			return most, err
		}
		vectors = got.Vectors
		cost := most
		if got.Usage != nil && got.Usage.PromptTokens > 0 {
			sent = got.Usage.PromptTokens
			if priced {
				cost, _ = llm.EstimateCost(e.o.Model, llm.Usage{PromptTokens: sent})
			}
		}
		return cost, nil
	}})
	return vectors, err
}
