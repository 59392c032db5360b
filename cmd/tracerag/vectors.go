package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/llm"
	"tracerag/locate"
)

// embedFlags choose the model of embeddings.
type embedFlags struct {
	model  string
	server *modelFlags // of the command; nil: there is only the endpoint to choose
}

func (e *embedFlags) add(f *pflag.FlagSet, what string) {
	f.StringVar(&e.model, "embed-model", "", what+" of this `MODEL` of the endpoint for embeddings (default: none)")
	if e.server == nil {
		e.server = &modelFlags{}
		f.StringVar(&e.server.baseURL, "base-url", "", "the endpoint's `URL` (default: $OPENAI_BASE_URL, or OpenAI's)")
	}
}

// embedClient returns the model of embeddings.
func (a *app) embedClient(e *embedFlags) (*llm.Client, error) {
	cfg, err := a.modelConfig(&modelFlags{baseURL: e.server.baseURL}, e.model)
	if err != nil {
		return nil, err
	}
	return llm.New(cfg)
}

// embedder returns what makes vectors.
func (a *app) embedder(e *embedFlags) (index.EmbedFunc, error) {
	client, err := a.embedClient(e)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		got, err := client.Embed(ctx, texts)
		return got.Vectors, err
	}, nil
}

// embed makes the vectors that functions lack.
func (a *app) embed(ctx context.Context, s knowledge.Store, e *embedFlags) error {
	embed, err := a.embedder(e)
	if err != nil {
		return err
	}
	left, err := s.Unembedded(ctx, e.model, nil, 1<<30)
	if err != nil || len(left) == 0 {
		return err
	}
	a.note("%s: vectors of %d functions, up to 1,000 bytes of each are sent", e.model, len(left))
	bar := a.progress("functions")
	defer bar.Close()
	made, err := index.Embed(ctx, s, &index.Embedding{Model: e.model, Embed: embed, Mask: a.masker(), Progress: func(done int) { bar.Set(done, len(left)) }})
	if err != nil {
		return fmt.Errorf("%w\n%d vectors were made and are kept; the same command makes the rest", err, made)
	}
	return nil
}

// mostEmbedded is how much of a report is sent, in bytes: models of embeddings refuse long texts.
const mostEmbedded = 2000

// nearest finds functions by vectors; nil if no model is named.
func (a *app) nearest(s knowledge.Store, e *embedFlags) (locate.Nearest, error) {
	if e.model == "" {
		return nil, nil
	}
	embed, err := a.embedder(e)
	if err != nil {
		return nil, err
	}
	var asked []float32
	return func(ctx context.Context, text string, repositories []int64, limit int) ([]knowledge.Near, error) {
		if asked == nil { // once for all repositories
			got, err := embed(ctx, []string{a.masker().Text(strings.ToValidUTF8(text[:min(len(text), mostEmbedded)], ""))})
			if err != nil {
				return nil, err
			}
			asked = got[0]
		}
		near, err := s.Nearest(ctx, e.model, asked, repositories, limit)
		if err == nil && len(near) == 0 {
			err = &noVectorsError{e.model}
		}
		return near, err
	}, nil
}

// noVectorsError says that no function has a vector.
type noVectorsError struct{ model string }

func (e *noVectorsError) Error() string {
	return fmt.Sprintf("no function has a vector of %s\n  tracerag index --embed-model %s makes them", e.model, e.model)
}
