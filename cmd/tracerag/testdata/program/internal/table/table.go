// Package table draws tables.
package table

import (
	"os"
	"slices"
	"strings"
)

// Table is rows of cells.
type Table struct{ rows [][]string }

// Read reads a CSV file.
func Read(name string) *Table {
	data, _ := os.ReadFile(name)
	return &Table{split(string(data), "\n,")}
}

// split splits text by the first separator, and its parts by the next.
func split(text, separators string) [][]string {
	var out [][]string
	for _, line := range strings.Split(text, separators[:1]) {
		if len(separators) == 1 {
			out = append(out, []string{line})
			continue
		}
		out = append(out, slices.Concat(split(line, separators[1:])...))
	}
	return out
}

// Draw returns the table as text.
func (t *Table) Draw(colors []string) string {
	var b strings.Builder
	b.WriteString(border(t.rows))
	slices.SortFunc(t.rows, compare)
	for _, r := range t.rows {
		b.WriteString(row(r))
	}
	return b.String() + border(t.rows)
}

// compare orders rows by their first cell.
func compare(a, b []string) int { return strings.Compare(a[0], b[0]) }

// border draws the line above and below the rows.
func border(rows [][]string) string {
	return "+" + strings.Repeat("-", 10*len(rows[0])) + "+\n"
}

func row(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString("|" + pad(c))
	}
	return b.String() + "|\n"
}

func pad(cell string) string { return cell + strings.Repeat(" ", 10-len(cell)) }
