package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Summaries is of [knowledge.Summaries].
func (s *Store) Summaries(ctx context.Context, model string, keys []knowledge.SummaryKey) (map[knowledge.SummaryKey]knowledge.Summary, error) {
	if len(keys) == 0 {
		return map[knowledge.SummaryKey]knowledge.Summary{}, nil
	}
	levels, hashes := make([]int64, len(keys)), make([][]byte, len(keys))
	for i, k := range keys {
		levels[i], hashes[i] = int64(k.Level), k.Hash[:]
	}
	return rows.ReadSummaries(s.query(ctx, "SELECT s.level, s.hash, s.text, s.substitute FROM unnest($2::int[], $3::bytea[]) x (level, hash) JOIN summary s ON s.project = $4 AND s.hash = x.hash AND s.level = x.level AND s.model = $1",
		model, levels, hashes, s.project))
}

// SetSummaries is of [knowledge.Summaries].
func (s *Store) SetSummaries(ctx context.Context, model string, list []knowledge.Summary) error {
	last := map[knowledge.SummaryKey]knowledge.Summary{}
	for _, x := range list {
		last[x.SummaryKey] = x
	}
	var levels []int64
	var hashes [][]byte
	var texts []string
	var substitutes []bool
	for _, k := range slices.SortedFunc(maps.Keys(last), func(a, b knowledge.SummaryKey) int { // locks are taken in one order
		return cmp.Or(slices.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(a.Level, b.Level))
	}) {
		x := last[k]
		levels, hashes, texts, substitutes = append(levels, int64(k.Level)), append(hashes, k.Hash[:]), append(texts, x.Text), append(substitutes, x.Substitute)
	}
	return s.writing(ctx, func(t *transaction) error {
		_, err := t.exec("INSERT INTO summary (project, model, level, hash, text, substitute) SELECT $1, $2, * FROM unnest($3::int[], $4::bytea[], $5::text[], $6::boolean[]) ON CONFLICT (project, hash, level, model) DO UPDATE SET text = excluded.text, substitute = excluded.substitute",
			s.project, model, levels, hashes, texts, substitutes)
		return err
	})
}

// SummaryModels is of [knowledge.Store].
func (s *Store) SummaryModels(ctx context.Context) ([]string, error) {
	return rows.Values[string](s.query(ctx, rows.SelectModels))
}

// Answer is of [knowledge.Answers].
func (s *Store) Answer(ctx context.Context, key string) ([]byte, error) {
	answer, _, err := rows.Value[[]byte](s.query(ctx, "SELECT answer FROM answer WHERE project = $1 AND key = $2", s.project, key))
	return answer, err
}

// KeepAnswer is of [knowledge.Answers].
func (s *Store) KeepAnswer(ctx context.Context, key string, answer []byte) error {
	if answer == nil {
		answer = []byte{}
	}
	return s.writing(ctx, func(t *transaction) error {
		_, err := t.exec("INSERT INTO answer (project, key, answer) VALUES ($1, $2, $3) ON CONFLICT (project, key) DO UPDATE SET answer = excluded.answer", s.project, key, answer)
		return err
	})
}
