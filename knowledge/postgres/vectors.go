package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Unembedded is of [knowledge.Vectors]. Before, it gives pgvector what it lacks.
func (s *Store) Unembedded(ctx context.Context, model string, repositories []int64, limit int) ([]knowledge.Decl, error) {
	if err := s.makeReals(ctx); err != nil {
		return nil, err
	}
	const without = productFunctions + " AND NOT EXISTS (SELECT FROM vector v WHERE v.project = u.project AND v.tokens = u.tokens AND v.comments = u.comments AND v.model = $2)"
	return rows.ReadOnce(s.query(ctx, rows.SelectDecls+without+rows.DeclOrder, repositories, model), limit)
}

// Lacking returns those of some vectors that there are none of a model for, in their order.
func (s *Store) Lacking(ctx context.Context, model string, of []knowledge.Vector) (lacking []knowledge.Vector, err error) {
	tokens, comments := make([][]byte, len(of)), make([][]byte, len(of))
	for i := range of {
		tokens[i], comments[i] = of[i].Tokens[:], of[i].Comments[:]
	}
	list, err := rows.Values[int](s.query(ctx, `SELECT x.nth FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY x (tokens, comments, nth)
		WHERE NOT EXISTS (SELECT FROM vector v WHERE v.project = $4 AND v.tokens = x.tokens AND v.comments = x.comments AND v.model = $3) ORDER BY x.nth`, tokens, comments, model, s.project))
	for _, n := range list {
		lacking = append(lacking, of[n-1])
	}
	return lacking, err
}

// SetVectors is of [knowledge.Vectors].
func (s *Store) SetVectors(ctx context.Context, model string, vectors []knowledge.Vector) error {
	type key struct{ tokens, comments code.Hash }
	last := map[key][]float32{}
	for _, v := range vectors {
		last[key{v.Tokens, v.Comments}] = v.Values
	}
	var tokens, comments, numbers [][]byte
	var texts []string
	for _, k := range slices.SortedFunc(maps.Keys(last), func(a, b key) int {
		return cmp.Or(slices.Compare(a.tokens[:], b.tokens[:]), slices.Compare(a.comments[:], b.comments[:]))
	}) {
		n := rows.Numbers(last[k])
		tokens, comments, numbers, texts = append(tokens, k.tokens[:]), append(comments, k.comments[:]), append(numbers, n), append(texts, reals(n))
	}
	return s.writing(ctx, func(t *transaction) error {
		_, err := t.exec(`INSERT INTO vector (project, model, tokens, comments, numbers, reals)
			SELECT $1, $2, x.tokens, x.comments, x.numbers, CASE WHEN `+hasVector+` THEN x.reals::real[] END FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::text[]) x (tokens, comments, numbers, reals)
			ON CONFLICT (project, tokens, comments, model) DO UPDATE SET numbers = excluded.numbers, reals = excluded.reals`,
			s.project, model, tokens, comments, numbers, texts)
		return err
	})
}

// embedded are functions u with their vectors v of a model, the first parameter; [inUnits] says which.
const embedded = " FROM unit u JOIN vector v ON v.project = u.project AND v.tokens = u.tokens AND v.comments = u.comments AND v.model = $1"

// inUnits is the condition for functions of the program in some repositories, or all. The number of a unit says both, and the planner
// knows how many there are with which number.
func inUnits(repositories []int64) string {
	if len(repositories) == 0 {
		return " WHERE u.id >> 32 & 255 = 0" // rows.ProductFunctions
	}
	ranges := make([]string, len(repositories))
	for i, r := range repositories {
		first, last := rows.Within(r, rows.ProductFunctions, rows.ProductFunctions+1)
		ranges[i] = fmt.Sprintf("u.id BETWEEN %d AND %d", first, last)
	}
	return " WHERE (" + strings.Join(ranges, " OR ") + ")"
}

// Nearest is of [knowledge.Vectors].
func (s *Store) Nearest(ctx context.Context, model string, to []float32, repositories []int64, limit int) ([]knowledge.Near, error) {
	near, done, err := s.nearestThere(ctx, model, to, repositories, limit)
	if done || err != nil {
		return near, err
	}
	return s.nearestHere(ctx, model, to, repositories, limit)
}

// nearestHere is Nearest by the arithmetic of this process, which all vectors are sent to.
func (s *Store) nearestHere(ctx context.Context, model string, to []float32, repositories []int64, limit int) ([]knowledge.Near, error) {
	query := s.query(ctx, "SELECT d.id, v.numbers"+embedded+" JOIN decl d ON d.unit = u.id"+inUnits(repositories), pgx.QueryExecModeDescribeExec, model)
	return rows.Nearest(query, to, limit, func(ids []int64) ([]knowledge.Decl, error) { return s.Decls(ctx, ids) })
}
