package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// pgvector compares vectors in the server, so that they need not all be sent here. It can't read bytes. So where it is
// installed each vector is kept a second time, as real[] (column reals), of which a question makes pgvector's own type.
// A column of that type would be twice as fast, but it would go with the extension, and a backup could not be restored without
// it. real[] alone, without the bytes, would be sent as eight bytes a number where there is no pgvector, which takes three times as long.
//
// It counts in float32, and adds in another order than [rows.Nearby]. So it chooses some more than are asked for, which are then
// compared as all are without it: the answer is the same to the last bit. Its indexes are not used: they miss some of the
// nearest, and nearly all of them if the question is about one repository of many (docs/teams.md has figures).

const (
	// hasVector is whether pgvector is installed in the database.
	hasVector = "EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'vector')"
	// spare is how many more pgvector chooses than are asked for.
	spare = 32
	// madeAtOnce is how many vectors get their second form in one transaction.
	madeAtOnce = 100
	// listedAtOnce is for how many they are looked up at once. While an older transaction goes on, a backup for one, PostgreSQL keeps
	// what is done in the index of those to do, and each look goes past all of it.
	listedAtOnce = 10_000
)

// nearestThere is Nearest by pgvector; done is false if it can't say: it is not installed, or does not have all vectors yet, or
// too many are equally near.
func (s *Store) nearestThere(ctx context.Context, model string, to []float32, repositories []int64, limit int) (near []knowledge.Near, done bool, err error) {
	schema, installed, err := rows.Value[string](s.query(ctx, "SELECT n.nspname::text FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"))
	if err != nil || !installed || len(to) == 0 {
		return nil, false, err
	}
	// A vector that pgvector does not have yet comes first, one of another length last.
	query := fmt.Sprintf(`SELECT x.unit, d.id, x.numbers, x.far FROM (
			SELECT u.id AS unit, v.numbers, CASE
				WHEN octet_length(v.numbers) <> 4 * $2::int THEN NULL
				WHEN v.reals IS NULL THEN '-Infinity'
				ELSE v.reals::%[1]s.vector OPERATOR(%[1]s.<#>) (SELECT $3::real[]::%[1]s.vector) END AS far%[2]s
			ORDER BY far LIMIT $4) x LEFT JOIN decl d ON d.unit = x.unit`, pgx.Identifier{schema}.Sanitize(), embedded+inUnits(repositories))
	begin := pgx.TxOptions{BeginQuery: "BEGIN READ ONLY; SET LOCAL work_mem = '64MB'"} // for the hashes of a million functions
	c := chosen{near: rows.NearTo(to), units: map[int64]bool{}}
	err = pgx.BeginTxFunc(ctx, s.pool, begin, func(tx pgx.Tx) error {
		return queryOf(ctx, tx, query, []any{pgx.QueryExecModeDescribeExec, model, len(to), rows.Floats(rows.Numbers(to)), limit + spare}).Each(c.add)
	})
	if failed(err) || err == nil && c.unmade {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, s.explain(ctx, err)
	}
	near, err = c.near.Nearest(limit, func(ids []int64) ([]knowledge.Decl, error) { return s.Decls(ctx, ids) })
	all := c.others || len(c.units) < limit+spare || limit == 0
	return near, err == nil && (all || len(near) == limit && near[limit-1].Cosine > inexact(len(to))-c.last), err
}

// chosen are functions that pgvector chose.
type chosen struct {
	near   *rows.Nearby
	units  map[int64]bool
	last   float64 // how far the farthest is: the product with the opposite sign
	unmade bool    // there are vectors that pgvector does not have yet
	others bool    // there are vectors of another length, which come after all that are compared
}

func (c *chosen) add(scan rows.Scan) error {
	var unit int64
	var decl *int64 // none while an update goes on that removes it
	var numbers []byte
	var far *float64
	if err := scan(&unit, &decl, &numbers, &far); err != nil {
		return err
	}
	if far == nil {
		c.others = true
		return nil
	}
	c.unmade = c.unmade || math.IsInf(*far, -1)
	if len(c.units) == 0 || *far > c.last {
		c.last = *far
	}
	c.units[unit] = true
	if decl != nil {
		c.near.Add(*decl, numbers)
	}
	return nil
}

// inexact is by how much a product of two vectors of length 1 may be wrong that pgvector computes: each of its
// steps rounds to float32.
func inexact(numbers int) float64 { return 1.01 * float64(numbers+16) / (1 << 24) }

// failed reports whether a question failed that may be answered without pgvector: the extension was dropped meanwhile, the role may
// not use its schema, its files are gone, a vector has more numbers than it takes, or is none.
func failed(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(e.Code) == 5 && slices.Contains([]string{"22", "3F", "42", "54", "58", "XX"}, e.Code[:2])
}

// reals is a vector in the form for pgvector, as text. One that is longer than 1, or none, has no numbers there, which pgvector does not
// take: who writes SQL may have put it there.
func reals(numbers []byte) string {
	list := rows.Floats(numbers)
	length := 0.
	for _, x := range list {
		length += float64(x) * float64(x)
	}
	if !(length < 1.001) { // NaN is not less
		list = nil
	}
	text := []byte{'{'}
	for i, x := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendFloat(text, float64(x), 'g', -1, 32)
	}
	return string(append(text, '}'))
}

// makeReals brings the vectors of the project that pgvector does not have into its form, if it is installed: those from before it was,
// that were copied, or that an older tracerag wrote. Others may do the same meanwhile.
func (s *Store) makeReals(ctx context.Context) error {
	for more := !s.read; more; {
		var todo vectorKeys
		if err := s.query(ctx, "SELECT tokens, comments, model FROM vector WHERE project = $1 AND reals IS NULL AND "+hasVector+" LIMIT $2", s.project, listedAtOnce).Each(todo.add); err != nil {
			return err
		}
		more = false // if others do all of these
		for len(todo.models) > 0 {
			made, err := s.makeRealsOf(ctx, todo.take(madeAtOnce))
			if isCode(err, denied, readOnly) { // who may not write does without
				return nil
			} else if err != nil {
				return err
			}
			more = more || made > 0
		}
	}
	return nil
}

// makeRealsOf is makeReals of some vectors, but for those that another one is at. It returns how many it made.
func (s *Store) makeRealsOf(ctx context.Context, some vectorKeys) (made int64, err error) {
	const of = " unnest($2::bytea[], $3::bytea[], $4::text[]"
	const same = " WHERE v.project = $1 AND v.tokens = x.tokens AND v.comments = x.comments AND v.model = x.model"
	const unmade = " AND CASE WHEN v.reals IS NULL THEN true END" // not by the index of those to do: see listedAtOnce
	err = s.writing(ctx, func(t *transaction) error {
		var now vectorKeys
		var texts []string
		if err := t.query("SELECT v.tokens, v.comments, v.model, v.numbers FROM vector v,"+of+") x (tokens, comments, model)"+same+unmade+" FOR UPDATE OF v SKIP LOCKED",
			s.project, some.tokens, some.comments, some.models).Each(func(scan rows.Scan) error {
			var numbers []byte
			err := now.add(func(to ...any) error { return scan(append(to, &numbers)...) })
			texts = append(texts, reals(numbers))
			return err
		}); err != nil || len(texts) == 0 {
			made = 0
			return err
		}
		made, err = t.exec("UPDATE vector v SET reals = x.reals::real[] FROM"+of+", $5::text[]) x (tokens, comments, model, reals)"+same, s.project, now.tokens, now.comments, now.models, texts)
		return err
	})
	return made, err
}

// vectorKeys are keys of vectors in a project, by column.
type vectorKeys struct {
	tokens, comments [][]byte
	models           []string
}

func (k *vectorKeys) add(scan rows.Scan) error {
	var tokens, comments []byte
	var model string
	err := scan(&tokens, &comments, &model)
	k.tokens, k.comments, k.models = append(k.tokens, tokens), append(k.comments, comments), append(k.models, model)
	return err
}

// take takes the first ones away.
func (k *vectorKeys) take(n int) vectorKeys {
	n = min(n, len(k.models))
	first := vectorKeys{k.tokens[:n], k.comments[:n], k.models[:n]}
	k.tokens, k.comments, k.models = k.tokens[n:], k.comments[n:], k.models[n:]
	return first
}
