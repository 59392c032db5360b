package sqlite

import (
	"context"
	"fmt"
	"strings"

	"tracerag/knowledge/rows"
)

// Export is of [rows.Copied].
func (s *Store) Export(ctx context.Context, do func(read rows.ReadTable) error) error {
	return s.snapshot(ctx, func(read rows.ReadFunc) error {
		return do(func(t *rows.Table, each func(row []any) error) error {
			columns := make([]string, len(t.Columns))
			for i, c := range t.Columns {
				columns[i] = `"` + c.Name + `"`
				if c.Kind == rows.Bytes { // a text, or NULL, as SQLite lets it be
					columns[i] = "CAST(" + columns[i] + " AS BLOB)"
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
		for _, table := range rows.Tables {
			if _, some, err := t.number("SELECT 1 FROM " + table.Name + " LIMIT 1"); err != nil || some {
				if err == nil {
					err = fmt.Errorf("%s: %w", s.file, rows.ErrNotEmpty)
				}
				return err
			}
		}
		return do(&target{t, map[string]int64{}})
	})
}

// target is of [rows.Target].
type target struct {
	*transaction
	last map[string]int64 // numbers that were given, by table
}

// Numbers is of [rows.Target].
func (t *target) Numbers(of *rows.Table, n int) ([]int64, error) {
	list := make([]int64, n)
	for i := range list {
		t.last[of.Name]++
		list[i] = t.last[of.Name]
	}
	return list, nil
}

// Insert is of [rows.Target].
func (t *target) Insert(into *rows.Table, list [][]any) error {
	var columns []string
	for _, c := range into.Columns {
		columns = append(columns, `"`+c.Name+`"`)
	}
	query := "INSERT INTO " + into.Name + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	for _, row := range list {
		for i, c := range into.Columns {
			if b, ok := row[i].([]byte); ok && into.Name == "literal" && c.Name == "text" {
				row[i] = string(b)
			}
			if into.Name == "decl" && c.Name == "short" {
				row[i] = rows.Short(row[i-1].(string)) // of the name before it
			}
		}
		if err := t.exec(query, row...); err != nil {
			return err
		}
	}
	return nil
}
