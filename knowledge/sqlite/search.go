package sqlite

import (
	"context"
	"database/sql"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Search is of [knowledge.Reader].
func (s *Store) Search(ctx context.Context, q knowledge.Query) ([]knowledge.Hit, error) {
	return rows.Search(s.source(ctx), &q)
}

// Rarity is of [knowledge.Reader].
func (s *Store) Rarity(ctx context.Context, terms []string, repositories []int64) (knowledge.Rarity, error) {
	return rows.Rarity(s.source(ctx), terms, repositories)
}

// Vocabularies is of [knowledge.Reader].
func (s *Store) Vocabularies(ctx context.Context, terms []string, repositories []int64) ([]knowledge.Vocabulary, error) {
	return rows.Vocabularies(s.source(ctx), &rows.Subjects{
		Counted: func() rows.Query { return s.query(ctx, "SELECT id, subjects FROM repository") },
		With: func(terms []string) rows.Query {
			return s.query(ctx, "SELECT repository, term, commits FROM subject WHERE term IN (SELECT value FROM json_each(?))", array(terms))
		},
		Of: func(repositories []int64) rows.Query { return s.query(ctx, subjectsOf, array(repositories)) },
	}, terms, repositories)
}

// quoting is the query of units with a text in their literals.
const quoting = "SELECT DISTINCT unit FROM literal WHERE instr(text, ?1)"

// source is where words are searched.
func (s *Store) source(ctx context.Context) *rows.Source {
	return &rows.Source{
		Repositories: func() rows.Query { return s.query(ctx, "SELECT id FROM repository ORDER BY id") },
		Chunks:       func(in rows.Scope, terms []string) ([]*rows.Chunk, error) { return s.chunks(ctx, &in, terms) },
		Decls: func(units []int64) rows.Query {
			return s.query(ctx, rows.SelectDecls+"WHERE d.unit IN (SELECT value FROM json_each(?))", array(units))
		},
		Literals: func(text string) rows.Query { return s.query(ctx, quoting, text) },
		LiteralsOf: func(text string, units []int64) rows.Query {
			return s.query(ctx, quoting+" AND unit IN (SELECT value FROM json_each(?2))", text, array(units))
		},
	}
}

// chunks reads the rows of terms in a scope, chunk by chunk.
func (s *Store) chunks(ctx context.Context, in *rows.Scope, terms []string) ([]*rows.Chunk, error) {
	var list []*rows.Chunk
	// Both queries see the same state.
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, repository := range in.Repositories {
		first, last := in.Chunks(repository)
		at := map[int64]*rows.Chunk{}
		err := queryOf(ctx, tx, "SELECT id, lengths FROM chunk WHERE id BETWEEN ? AND ? ORDER BY id", first, last).Each(func(scan rows.Scan) error {
			c := &rows.Chunk{Rows: make([][]byte, len(terms))}
			err := scan(&c.ID, &c.Lengths)
			at[c.ID] = c
			list = append(list, c)
			return err
		})
		if err == nil && len(terms) > 0 {
			err = queryOf(ctx, tx, `SELECT p.chunk, t.key, p.units FROM chunk c CROSS JOIN json_each(?) t CROSS JOIN posting p
				WHERE c.id BETWEEN ? AND ? AND p.chunk = c.id AND p.term = t.value`, array(terms), first, last).Each(func(scan rows.Scan) error {
				var chunk, term int64
				var units []byte
				if err := scan(&chunk, &term, &units); err != nil {
					return err
				}
				at[chunk].Rows[term] = units
				return nil
			})
		}
		if err != nil {
			return nil, s.explain(err)
		}
	}
	return list, nil
}
