package postgres

import (
	"cmp"
	"context"
	"slices"

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
			return s.query(ctx, "SELECT repository, term, commits FROM subject WHERE term = ANY($1)", terms)
		},
		Of: func(repositories []int64) rows.Query { return s.query(ctx, subjectsOf, repositories) },
	}, terms, repositories)
}

// quoting is the query of units with a text in their literals.
const quoting = "SELECT DISTINCT unit FROM literal WHERE position($1::bytea IN text) > 0"

// source is where words are searched.
func (s *Store) source(ctx context.Context) *rows.Source {
	return &rows.Source{
		Repositories: func() rows.Query { return s.query(ctx, "SELECT id FROM repository ORDER BY id") },
		Chunks:       func(in rows.Scope, terms []string) ([]*rows.Chunk, error) { return s.chunks(ctx, &in, terms) },
		Decls: func(units []int64) rows.Query {
			return s.query(ctx, rows.SelectDecls+"WHERE d.unit = ANY($1)", units)
		},
		Literals: func(text string) rows.Query { return s.query(ctx, quoting, []byte(text)) },
		LiteralsOf: func(text string, units []int64) rows.Query {
			return s.query(ctx, quoting+" AND unit = ANY($2)", []byte(text), units)
		},
	}
}

// chunks reads the rows of terms in a scope, chunk by chunk. It is one statement, which sees one state.
func (s *Store) chunks(ctx context.Context, in *rows.Scope, terms []string) ([]*rows.Chunk, error) {
	var first, last []int64
	for _, r := range in.Repositories {
		a, b := in.Chunks(r)
		first, last = append(first, a), append(last, b)
	}
	number := make(map[string]int, len(terms))
	for i, t := range terms {
		number[encode(t)] = i
	}
	var list []*rows.Chunk
	at := map[int64]*rows.Chunk{}
	chunk := func(id int64) *rows.Chunk {
		c := at[id]
		if c == nil {
			c = &rows.Chunk{ID: id, Rows: make([][]byte, len(terms))}
			at[id], list = c, append(list, c)
		}
		return c
	}
	err := s.query(ctx, `WITH c AS MATERIALIZED (SELECT c.id, c.lengths FROM unnest($1::bigint[], $2::bigint[]) x (a, b) JOIN chunk c ON c.id BETWEEN x.a AND x.b)
		SELECT id, NULL, lengths FROM c
		UNION ALL SELECT p.chunk, p.term, p.units FROM posting p WHERE p.chunk = ANY(ARRAY(SELECT id FROM c)) AND p.term = ANY($3)`, first, last, terms).
		Each(func(scan rows.Scan) error {
			var id int64
			var term *string
			var b []byte
			if err := scan(&id, &term, &b); err != nil {
				return err
			}
			if term == nil {
				chunk(id).Lengths = b
				return nil
			}
			n := number[*term]
			for i := n; i >= 0; i-- { // a term may be asked for twice
				if i == n || terms[i] == terms[n] {
					chunk(id).Rows[i] = b
				}
			}
			return nil
		})
	slices.SortFunc(list, func(a, b *rows.Chunk) int { return cmp.Compare(a.ID, b.ID) })
	return list, err
}
