package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Table is a table that all stores have, by the columns that are copied.
type Table struct {
	Name    string
	Columns []Column
	// Numbered says that the first column is a number that a store gives.
	Numbered bool
}

// Column is one of a table. What is in it tells what becomes of it in a store with other numbers.
type Column struct {
	Name string
	Kind ColumnKind
	Of   string // of a Reference: the table
}

// ColumnKind says what is in a column.
type ColumnKind int

// What may be in a column.
const (
	Number    ColumnKind = iota
	Text                 // string
	Bytes                // []byte
	Truth                // int64, 0 or 1
	Reference            // the number of a row of another table
	UnitNumber
	ChunkNumber
)

// Tables are those of a store, each after those that it refers to.
var Tables = []Table{
	table("repository", true, "id:repository name:text root:text url:text revision:text uncommitted:bytes newest listing:bytes updating calls_made:bytes calls_now:bytes subjects"),
	table("module", false, "repository:repository ord path:text detail:text"),
	table("package", true, "id:package repository:repository path:text"),
	table("file", true, "id:file repository:repository path:text base:text package:package directory:text module clause:text class platform:text build:text broken imports:text problem:text size mtime hash:bytes blob:bytes calls:bytes"),
	table("unit", false, "id:unit package:package tokens:bytes comments:bytes names:text"),
	table("decl", true, "id:decl file:file package:package unit:unit kind name:text short:text nth start end doc_start doc_end line end_line head broken"),
	table("orphan", false, "unit:unit"),
	table("member", false, "unit:unit name:text ord"),
	table("literal", false, "unit:unit ord text:bytes"),
	table("chunk", false, "id:chunk lengths:bytes"),
	table("posting", false, "chunk:chunk term:text units:bytes"),
	table("edge", false, "caller:decl kind site callee:decl"),
	table("run", true, "id:run trace:text dir:text package:text test:text command:text revision:text passed:truth"),
	table("symbol", true, "id:symbol package:text name:text nth base:text"),
	table("ran", false, "symbol:symbol run:run calls"),
	table("ran_call", false, "caller:symbol callee:symbol run:run count"),
	table("revision", true, "id:revision repository:repository name:text time subject:text"),
	table("revision_file", false, "revision:revision path:text"),
	table("subject", false, "term:text repository:repository commits"),
	table("vector", false, "tokens:bytes comments:bytes model:text numbers:bytes"),
	table("summary", false, "level hash:bytes model:text text:text substitute:truth"),
	table("answer", false, "key:text answer:bytes"),
}

func table(name string, numbered bool, columns string) Table {
	t := Table{Name: name, Numbered: numbered}
	for c := range strings.FieldsSeq(columns) {
		name, kind, _ := strings.Cut(c, ":")
		col := Column{Name: name}
		switch kind {
		case "":
		case "text":
			col.Kind = Text
		case "bytes":
			col.Kind = Bytes
		case "truth":
			col.Kind = Truth
		case "unit":
			col.Kind = UnitNumber
		case "chunk":
			col.Kind = ChunkNumber
		default:
			col.Kind, col.Of = Reference, kind
		}
		t.Columns = append(t.Columns, col)
	}
	return t
}

// check tells whether values are of their columns: SQLite keeps any value in any column.
func (t *Table) check(row []any) error {
	for i, c := range t.Columns {
		var ok bool
		switch c.Kind {
		case Text:
			_, ok = row[i].(string)
		case Bytes: // nil is none
			_, ok = row[i].([]byte)
			ok = ok || row[i] == nil
		default:
			_, ok = row[i].(int64)
		}
		if !ok {
			return fmt.Errorf("column %s has a value of another type, %T: the store is damaged", c.Name, row[i])
		}
	}
	return nil
}

// ErrNotEmpty says that a store to be copied into has something in it.
var ErrNotEmpty = errors.New("something is in it already")

// Select returns the query of all rows of a table, each row's columns as column says.
func (t *Table) Select(column func(c *Column) string) string {
	columns := make([]string, len(t.Columns))
	for i := range t.Columns {
		columns[i] = column(&t.Columns[i])
	}
	order := "1, 2"
	if len(columns) == 1 {
		order = "1"
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + t.Name + " ORDER BY " + order
}

// ReadTable calls each for the rows of a table: int64, string and []byte.
type ReadTable func(t *Table, each func(row []any) error) error

// Target is what rows are copied into: a transaction on an empty store.
type Target interface {
	// Numbers gives n numbers for new rows of a table.
	Numbers(t *Table, n int) ([]int64, error)
	Insert(t *Table, list [][]any) error
}

// CheckEmpty returns [ErrNotEmpty] if a query of the first row of any table has one.
func CheckEmpty(query func(query string) Query) error {
	for _, t := range Tables {
		if _, some, err := Value[int64](query("SELECT 1 FROM " + t.Name + " LIMIT 1")); err != nil {
			return err
		} else if some {
			return ErrNotEmpty
		}
	}
	return nil
}

// copied is how many rows are inserted at once.
const copied = 2000

// Copied is a store as [Copy] sees it.
type Copied interface {
	// Export has do read all tables as they are at one moment.
	Export(ctx context.Context, do func(read ReadTable) error) error
	// Import has do fill an empty store, in one transaction. The error is [ErrNotEmpty] if it is
	// not empty.
	Import(ctx context.Context, do func(to Target) error) error
}

// Copy copies all of a store into an empty one: whole or not at all. Numbers are given anew.
func Copy(ctx context.Context, from, to Copied, progress func(rows int)) error {
	return from.Export(ctx, func(read ReadTable) error {
		return to.Import(ctx, func(to Target) error { return copyTables(read, to, progress) })
	})
}

func copyTables(read ReadTable, to Target, progress func(rows int)) error {
	c := &copying{to: to, numbers: map[string]map[int64]int64{}, progress: progress}
	for i := range Tables {
		t := &Tables[i]
		if err := read(t, func(row []any) error {
			// What was read is not the reader's to keep: it may be its buffer.
			c.list = append(c.list, slices.Clone(row))
			if len(c.list) < copied {
				return nil
			}
			return c.flush(t)
		}); err != nil {
			return fmt.Errorf("copying %s: %w", t.Name, err)
		}
		if err := c.flush(t); err != nil {
			return fmt.Errorf("copying %s: %w", t.Name, err)
		}
	}
	return nil
}

type copying struct {
	to       Target
	numbers  map[string]map[int64]int64 // by table: the new ones
	list     [][]any
	rows     int
	progress func(rows int)
}

func (c *copying) flush(t *Table) error {
	if len(c.list) == 0 {
		return nil
	}
	for _, row := range c.list {
		if err := t.check(row); err != nil {
			return err
		}
	}
	if t.Numbered {
		numbers, err := c.to.Numbers(t, len(c.list))
		if err != nil {
			return err
		}
		if c.numbers[t.Name] == nil {
			c.numbers[t.Name] = map[int64]int64{}
		}
		for i, row := range c.list {
			c.numbers[t.Name][row[0].(int64)] = numbers[i]
		}
	}
	for _, row := range c.list {
		for i := range t.Columns {
			if n, ok := row[i].(int64); ok {
				var err error
				if row[i], err = c.moved(&t.Columns[i], n); err != nil {
					return err
				}
			}
		}
	}
	err := c.to.Insert(t, c.list)
	c.rows += len(c.list)
	c.list = c.list[:0]
	if c.progress != nil {
		c.progress(c.rows)
	}
	return err
}

// moved is a number of a column in the new store.
func (c *copying) moved(col *Column, n int64) (int64, error) {
	of, known := col.Of, true
	look := func(old int64) (now int64) {
		now, known = c.numbers[of][old]
		return now
	}
	switch col.Kind {
	case Reference:
		n = look(n)
	case UnitNumber:
		of = "repository"
		n = Moved(n, look)
	case ChunkNumber:
		of = "repository"
		n = MovedChunk(n, look)
	}
	if !known {
		return 0, fmt.Errorf("column %s has the number of a row of %s that does not exist: the store is damaged", col.Name, of)
	}
	return n, nil
}
