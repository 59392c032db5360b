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
			return read(t.Select(func(c *rows.Column) string {
				if c.Kind == rows.Bytes { // a text, or NULL, as SQLite lets it be
					return `CAST("` + c.Name + `" AS BLOB)`
				}
				return `"` + c.Name + `"`
			}), each)
		})
	})
}

// Import is of [rows.Copied].
func (s *Store) Import(ctx context.Context, do func(to rows.Target) error) error {
	return s.writing(ctx, func(t *transaction) error {
		if err := rows.CheckEmpty(func(query string) rows.Query { return t.query(query) }); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
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
