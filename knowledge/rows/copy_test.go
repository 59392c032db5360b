package rows

import (
	"strings"
	"testing"
)

// noTarget is a store that takes everything.
type noTarget struct{}

func (noTarget) Numbers(_ *Table, n int) ([]int64, error) { return make([]int64, n), nil }
func (noTarget) Insert(*Table, [][]any) error             { return nil }

// TestCopyOfDamaged copies rows with a value that its column can't have, as a damaged file may: the
// error names table and column, and nothing panics.
func TestCopyOfDamaged(t *testing.T) {
	good := map[ColumnKind]any{Text: "a", Bytes: []byte("a"), Truth: int64(1)}
	for _, damaged := range []struct {
		table, column string
		value         any
	}{
		{"repository", "name", []byte("a")},
		{"repository", "name", nil},
		{"repository", "listing", "a"},
		{"module", "ord", "1"},
		{"run", "passed", nil},
		{"decl", "file", nil},
	} {
		read := func(table *Table, each func(row []any) error) error {
			if table.Name != damaged.table {
				return nil
			}
			row := make([]any, len(table.Columns))
			for i, c := range table.Columns {
				if row[i] = good[c.Kind]; row[i] == nil {
					row[i] = int64(0)
				}
				if c.Name == damaged.column {
					row[i] = damaged.value
				}
			}
			return each(row)
		}
		err := copyTables(read, noTarget{}, nil)
		if err == nil || !strings.Contains(err.Error(), "copying "+damaged.table+": column "+damaged.column+" ") {
			t.Errorf("%s.%s with %v is copied: %v", damaged.table, damaged.column, damaged.value, err)
		}
	}
}
