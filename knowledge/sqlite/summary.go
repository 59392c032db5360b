package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"tracerag/knowledge"
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
	out := make(map[knowledge.SummaryKey]knowledge.Summary, len(keys))
	err = s.rows(ctx, func(scan func(...any) error) error {
		var x knowledge.Summary
		var hash []byte
		if err := scan(&x.Level, &hash, &x.Text, &x.Substitute); err != nil {
			return err
		}
		copy(x.Hash[:], hash)
		out[x.SummaryKey] = x
		return nil
	}, "SELECT s.level, s.hash, s.text, s.substitute FROM json_each(?) j JOIN summary s ON s.level = j.value ->> 0 AND s.hash = unhex(j.value ->> 1) AND s.model = ?", string(list), model)
	return out, err
}

// SetSummaries is of [knowledge.Summaries].
func (s *Store) SetSummaries(ctx context.Context, model string, list []knowledge.Summary) error {
	return s.writing(ctx, func(t *transaction) error {
		st, err := t.stmt("INSERT OR REPLACE INTO summary (level, hash, model, text, substitute) VALUES (?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		for _, x := range list {
			if _, err := st.Exec(x.Level, x.Hash[:], model, x.Text, x.Substitute); err != nil {
				return err
			}
		}
		return nil
	})
}

// Answer is of [knowledge.Answers].
func (s *Store) Answer(ctx context.Context, key string) (answer []byte, err error) {
	err = s.rows(ctx, func(scan func(...any) error) error { return scan(&answer) }, "SELECT answer FROM answer WHERE key = ?", key)
	return answer, err
}

// KeepAnswer is of [knowledge.Answers].
func (s *Store) KeepAnswer(ctx context.Context, key string, answer []byte) error {
	return s.writing(ctx, func(t *transaction) error {
		st, err := t.stmt("INSERT OR REPLACE INTO answer (key, answer) VALUES (?, ?)")
		if err == nil {
			_, err = st.Exec(key, answer)
		}
		return err
	})
}
