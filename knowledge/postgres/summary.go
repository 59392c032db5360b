package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
)

// Summaries is of [knowledge.Summaries].
func (s *Store) Summaries(ctx context.Context, model string, keys []knowledge.SummaryKey) (map[knowledge.SummaryKey]knowledge.Summary, error) {
	out := make(map[knowledge.SummaryKey]knowledge.Summary, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	levels, hashes := make([]int64, len(keys)), make([][]byte, len(keys))
	for i, k := range keys {
		levels[i], hashes[i] = int64(k.Level), k.Hash[:]
	}
	err := s.rows(ctx, func(scan func(...any) error) error {
		var x knowledge.Summary
		var hash []byte
		if err := scan(&x.Level, &hash, &x.Text, &x.Substitute); err != nil {
			return err
		}
		copy(x.Hash[:], hash)
		out[x.SummaryKey] = x
		return nil
	}, "SELECT s.level, s.hash, s.text, s.substitute FROM unnest($2::int[], $3::bytea[]) x (level, hash) JOIN summary s ON s.project = $4 AND s.hash = x.hash AND s.level = x.level AND s.model = $1",
		model, levels, hashes, s.project)
	return out, err
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

// Answer is of [knowledge.Answers].
func (s *Store) Answer(ctx context.Context, key string) (answer []byte, err error) {
	list, err := column[[]byte](ctx, s, "SELECT answer FROM answer WHERE project = $1 AND key = $2", s.project, key)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
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

// Unembedded is of [knowledge.Vectors].
func (s *Store) Unembedded(ctx context.Context, model string, repositories []int64, limit int) ([]knowledge.Decl, error) {
	list, err := s.decls(ctx, productFunctions+" AND NOT EXISTS (SELECT FROM vector v WHERE v.project = u.project AND v.tokens = u.tokens AND v.comments = u.comments AND v.model = $2)", repositories, model)
	return once(list, limit), err
}

// SetVectors is of [knowledge.Vectors].
func (s *Store) SetVectors(ctx context.Context, model string, vectors []knowledge.Vector) error {
	type key struct{ tokens, comments code.Hash }
	last := map[key][]float32{}
	for _, v := range vectors {
		last[key{v.Tokens, v.Comments}] = v.Values
	}
	var tokens, comments, numbers [][]byte
	for _, k := range slices.SortedFunc(maps.Keys(last), func(a, b key) int {
		return cmp.Or(slices.Compare(a.tokens[:], b.tokens[:]), slices.Compare(a.comments[:], b.comments[:]))
	}) {
		tokens, comments, numbers = append(tokens, k.tokens[:]), append(comments, k.comments[:]), append(numbers, numbersOf(last[k]))
	}
	return s.writing(ctx, func(t *transaction) error {
		_, err := t.exec("INSERT INTO vector (project, model, tokens, comments, numbers) SELECT $1, $2, * FROM unnest($3::bytea[], $4::bytea[], $5::bytea[]) ON CONFLICT (project, tokens, comments, model) DO UPDATE SET numbers = excluded.numbers",
			s.project, model, tokens, comments, numbers)
		return err
	})
}
