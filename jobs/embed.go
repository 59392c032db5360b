package jobs

import (
	"context"
	"crypto/sha256"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
)

// Embeddings is how a worker makes vectors.
type Embeddings struct {
	// Model returns the model, for a session: with the rate and the ceiling that it has in common with the other workers.
	Model func(shared throttle.Shared) *metered.Embedder
	Mask  index.Masker // of secrets in what is sent
}

// vectorLevel is the level of claims of vectors: none of a summary.
const vectorLevel knowledge.Level = 0

// embed makes the vectors that the functions of a repository lack. What another worker makes at the same time, for a repository that
// has the same function, is waited for.
func (s *session) embed(ctx context.Context, t Task) error {
	r, unlock, err := s.hold(ctx, t)
	if err != nil {
		return err
	}
	defer unlock()
	model := s.Embeddings.Model(pace{s})
	if err := s.affordable(ctx, model.Name()); err != nil {
		return err
	}
	_, err = index.EmbedRepository(ctx, s.Store, r, &index.Embedding{
		Model: model.Name(), Embed: model.Embed, Mask: s.Embeddings.Mask,
		Read: func(path string) ([]byte, error) { return s.text(ctx, r, path) },
		Claim: func(ctx context.Context, of []knowledge.Vector) ([]knowledge.Vector, func(), error) {
			return s.claimVectors(ctx, model.Name(), of)
		},
	})
	return putOff(err)
}

// claimVectors waits until this worker alone makes some vectors, and returns those that were not made meanwhile.
func (s *session) claimVectors(ctx context.Context, model string, of []knowledge.Vector) (lacking []knowledge.Vector, release func(), err error) {
	keys := make([]knowledge.SummaryKey, len(of))
	for i, v := range of {
		sum := sha256.Sum256(slices.Concat(v.Tokens[:], v.Comments[:], []byte(model)))
		keys[i] = knowledge.SummaryKey{Level: vectorLevel, Hash: code.Hash(sum[:len(code.Hash{})])}
	}
	if release, err = s.claim(ctx, keys); err != nil {
		return nil, nil, err
	}
	if lacking, err = s.Store.Lacking(ctx, model, of); err != nil {
		release()
		return nil, nil, err
	}
	return lacking, release, nil
}
