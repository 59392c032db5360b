package postgres

import (
	"context"
	"fmt"
	"strings"

	"tracerag/knowledge/rows"
)

// Export is of [rows.Copied]: of the project.
func (s *Store) Export(ctx context.Context, do func(read rows.ReadTable) error) error {
	return s.snapshot(ctx, func(read rows.ReadFunc) error {
		return do(func(t *rows.Table, each func(row []any) error) error {
			return read(t.Select(func(c *rows.Column) string {
				name := `"` + c.Name + `"`
				switch {
				case c.Kind == rows.Truth:
					return name + "::int"
				case t.Name == "repository" && c.Name == "root", t.Name == "run" && c.Name == "dir": // of another machine
					return fmt.Sprintf("CASE WHEN host = '%s' THEN %s ELSE host || ':' || %[2]s END", strings.ReplaceAll(encode(s.where.Host), "'", "''"), name)
				}
				return name
			}), each)
		})
	})
}

// Import is of [rows.Copied].
func (s *Store) Import(ctx context.Context, do func(to rows.Target) error) error {
	return s.importing(ctx, func(t *transaction) error { return do(target{t}) })
}

// importing has do fill the project, which must be empty.
func (s *Store) importing(ctx context.Context, do func(t *transaction) error) error {
	err := s.writing(ctx, func(t *transaction) error {
		for _, l := range []projectLock{namesLock, runsLock} {
			if err := t.lockProject(l); err != nil {
				return err
			}
		}
		if err := rows.CheckEmpty(func(query string) rows.Query { return t.query(query) }); err != nil {
			return fmt.Errorf("%s: %w", s.server, err)
		}
		return do(t)
	})
	if err == nil {
		_ = s.makeReals(ctx) // the copy is whole without: whoever makes vectors next goes on with it
	}
	return err
}

// target is of [rows.Target].
type target struct{ *transaction }

// Numbers is of [rows.Target].
func (t target) Numbers(of *rows.Table, n int) ([]int64, error) {
	return rows.Values[int64](t.query("SELECT nextval(pg_get_serial_sequence('tracerag.' || $1::text, 'id')) FROM generate_series(1, $2::int)", of.Name, n))
}

// Insert is of [rows.Target].
func (t target) Insert(into *rows.Table, list [][]any) error {
	columns, sources, args := []string{"project"}, []string(nil), []any{t.s.project}
	add := func(name, kind string, values any) {
		columns = append(columns, `"`+name+`"`)
		args = append(args, values)
		sources = append(sources, fmt.Sprintf("$%d::%s[]", len(args), kind))
	}
	for i, c := range into.Columns {
		switch c.Kind {
		case rows.Text:
			texts := make([]string, len(list))
			for n, row := range list {
				if texts[n] = row[i].(string); into.Name == "decl" && c.Name == "short" {
					texts[n] = rows.Key(fold(texts[n]))
				}
			}
			add(c.Name, "text", texts)
			if into.Name == "member" && c.Name == "name" {
				folded := make([]string, len(list))
				for n := range texts {
					folded[n] = rows.Key(fold(texts[n]))
				}
				add("folded", "text", folded)
			}
		case rows.Bytes:
			bytes := make([][]byte, len(list))
			for n, row := range list {
				if bytes[n], _ = row[i].([]byte); bytes[n] == nil {
					bytes[n] = []byte{}
				}
			}
			add(c.Name, "bytea", bytes)
		case rows.Truth:
			truths := make([]bool, len(list))
			for n, row := range list {
				truths[n] = row[i].(int64) != 0
			}
			add(c.Name, "boolean", truths)
		default:
			numbers := make([]int64, len(list))
			for n, row := range list {
				numbers[n] = row[i].(int64)
			}
			add(c.Name, "bigint", numbers)
		}
	}
	if into.Name == "repository" || into.Name == "run" {
		hosts := make([]string, len(list))
		for n := range hosts {
			hosts[n] = t.s.where.Host
		}
		add("host", "text", hosts)
	}
	_, err := t.exec(fmt.Sprintf("INSERT INTO %s (%s) SELECT $1, * FROM unnest(%s)", into.Name, strings.Join(columns, ", "), strings.Join(sources, ", ")), args...)
	return err
}
