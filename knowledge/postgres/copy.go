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
			columns := make([]string, len(t.Columns))
			for i, c := range t.Columns {
				columns[i] = `"` + c.Name + `"`
				switch {
				case c.Kind == rows.Truth:
					columns[i] += "::int"
				case t.Name == "repository" && c.Name == "root", t.Name == "run" && c.Name == "dir": // of another machine
					columns[i] = fmt.Sprintf("CASE WHEN host = '%s' THEN %s ELSE host || ':' || %[2]s END", strings.ReplaceAll(encode(s.where.Host), "'", "''"), columns[i])
				}
			}
			order := "1, 2"[:min(4, 3*len(columns)-2)]
			return read("SELECT "+strings.Join(columns, ", ")+" FROM "+t.Name+" ORDER BY "+order, each)
		})
	})
}

// Import is of [rows.Copied].
func (s *Store) Import(ctx context.Context, do func(to rows.Target) error) error {
	return s.writing(ctx, func(t *transaction) error {
		if _, err := t.exec("SELECT pg_advisory_xact_lock($1, $2), pg_advisory_xact_lock($3, $2)", int32(namesLock), s.project, int32(runsLock)); err != nil {
			return err
		}
		for _, table := range rows.Tables {
			if _, some, err := t.number("SELECT 1 FROM " + table.Name + " LIMIT 1"); err != nil || some {
				if err == nil {
					err = fmt.Errorf("%s: %w", s.server, rows.ErrNotEmpty)
				}
				return err
			}
		}
		return do(target{t})
	})
}

// target is of [rows.Target].
type target struct{ *transaction }

// Numbers is of [rows.Target].
func (t target) Numbers(of *rows.Table, n int) ([]int64, error) {
	var list []int64
	err := t.rows(func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		list = append(list, id)
		return err
	}, "SELECT nextval(pg_get_serial_sequence('tracerag.' || $1::text, 'id')) FROM generate_series(1, $2::int)", of.Name, n)
	return list, err
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
					texts[n] = fold(texts[n])
				}
			}
			add(c.Name, "text", texts)
			if into.Name == "member" && c.Name == "name" {
				folded := make([]string, len(list))
				for n := range texts {
					folded[n] = fold(texts[n])
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
