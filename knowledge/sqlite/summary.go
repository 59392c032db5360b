package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Summaries is of [knowledge.Summaries].
func (s *Store) Summaries(ctx context.Context, model string, keys []knowledge.SummaryKey) (map[knowledge.SummaryKey]knowledge.Summary, error) {
	asked := make([][2]any, len(keys))
	for i, k := range keys {
		asked[i] = [2]any{k.Level, hex.EncodeToString(k.Hash[:])}
	}
	list, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	return rows.ReadSummaries(s.query(ctx, "SELECT s.level, s.hash, s.text, s.substitute FROM json_each(?) j JOIN summary s ON s.level = j.value ->> 0 AND s.hash = unhex(j.value ->> 1) AND s.model = ?", string(list), model))
}

// SetSummaries is of [knowledge.Summaries].
func (s *Store) SetSummaries(ctx context.Context, model string, list []knowledge.Summary) error {
	return s.writing(ctx, func(t *transaction) error {
		for _, x := range list {
			if err := t.exec("INSERT OR REPLACE INTO summary (level, hash, model, text, substitute) VALUES (?, ?, ?, ?, ?)", x.Level, x.Hash[:], model, x.Text, x.Substitute); err != nil {
				return err
			}
		}
		return nil
	})
}

// SummaryModels is of [knowledge.Store].
func (s *Store) SummaryModels(ctx context.Context) ([]string, error) {
	return rows.Values[string](s.query(ctx, rows.SelectModels))
}

// Answer is of [knowledge.Answers].
func (s *Store) Answer(ctx context.Context, key string) ([]byte, error) {
	answer, _, err := rows.Value[[]byte](s.query(ctx, "SELECT answer FROM answer WHERE key = ?", key))
	return answer, err
}

// KeepAnswer is of [knowledge.Answers].
func (s *Store) KeepAnswer(ctx context.Context, key string, answer []byte) error {
	return s.writing(ctx, func(t *transaction) error {
		return t.exec("INSERT OR REPLACE INTO answer (key, answer) VALUES (?, ?)", key, answer)
	})
}
