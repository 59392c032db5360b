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

func (s *Store) source(ctx context.Context) rows.Source {
	return rows.Source{
		IDs:    func(repositories []int64) ([]int64, error) { return s.ids(ctx, repositories) },
		Chunks: func(in rows.Scope, terms []string) ([]*rows.Chunk, error) { return s.chunks(ctx, &in, terms) },
		Decls: func(units []int64, each func(*knowledge.Decl, int64)) error {
			return s.rows(ctx, func(scan func(...any) error) error {
				var d knowledge.Decl
				var unit int64
				err := scanDecl(scan, &d, &unit)
				if err == nil {
					each(&d, unit)
				}
				return err
			}, selectDecl+"WHERE d.unit IN (SELECT value FROM json_each(?))", array(units))
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
		read, err := tx.QueryContext(ctx, "SELECT id, lengths FROM chunk WHERE id BETWEEN ? AND ? ORDER BY id", first, last)
		if err == nil {
			err = eachRow(read, func(scan func(...any) error) error {
				c := &rows.Chunk{Rows: make([][]byte, len(terms))}
				err := scan(&c.ID, &c.Lengths)
				at[c.ID] = c
				list = append(list, c)
				return err
			})
		}
		if err == nil && len(terms) > 0 {
			read, err = tx.QueryContext(ctx, `SELECT p.chunk, t.key, p.units FROM chunk c CROSS JOIN json_each(?) t CROSS JOIN posting p
				WHERE c.id BETWEEN ? AND ? AND p.chunk = c.id AND p.term = t.value`, array(terms), first, last)
			if err == nil {
				err = eachRow(read, func(scan func(...any) error) error {
					var chunk, term int64
					var units []byte
					if err := scan(&chunk, &term, &units); err != nil {
						return err
					}
					at[chunk].Rows[term] = units
					return nil
				})
			}
		}
		if err != nil {
			return nil, s.explain(err)
		}
	}
	return list, nil
}
