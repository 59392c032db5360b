package report

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tracerag/eval"
	"tracerag/phrase"
)

// Table is one table of a report.
type Table struct {
	Name  string // of a file, without an ending
	Title string
	Notes []string

	columns []column
	rows    [][]cell
}

// column has one name for people, and as many in CSV as its cells have fields.
type column struct {
	name   string
	fields []string
	number bool
}

// cell is Markdown for people, and plain fields for programs.
type cell struct {
	text   string
	fields []string
}

// missing is shown where there is nothing to say.
const missing = "–"

func textColumn(name string) column   { return column{name, []string{name}, false} }
func numberColumn(name string) column { return column{name, []string{name}, true} }

func textCell(s string) cell { return cell{markdown(s), []string{eval.CSVText(s)}} }

func intCell(n int) cell { return cell{phrase.Number(n), []string{strconv.Itoa(n)}} }

func noCell(fields int) cell { return cell{missing, make([]string, fields)} }

// floatCell has the same decimals in both forms, and what unit people want to see.
func floatCell(v float64, decimals int, unit string) cell {
	if math.IsNaN(v) {
		return noCell(1)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	return cell{s + unit, []string{s}}
}

// WriteMarkdown writes the table below its title, and its notes.
func (t *Table) WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "**%s**\n\n|", markdown(t.Title))
	for _, c := range t.columns {
		fmt.Fprintf(b, " %s |", markdown(c.name))
	}
	b.WriteString("\n|")
	for _, c := range t.columns {
		if c.number {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.rows {
		b.WriteByte('|')
		for _, c := range row {
			fmt.Fprintf(b, " %s |", c.text)
		}
		b.WriteByte('\n')
	}
	for _, n := range t.Notes {
		fmt.Fprintf(b, "\n%s\n", markdown(n))
	}
	return b.Flush()
}

// WriteCSV writes the table without title and notes: numbers with a point and
// without separators, what is missing as an empty field.
func (t *Table) WriteCSV(w io.Writer) error {
	var head []string
	for _, c := range t.columns {
		head = append(head, c.fields...)
	}
	rows := [][]string{head}
	for _, row := range t.rows {
		var fields []string
		for _, c := range row {
			fields = append(fields, c.fields...)
		}
		rows = append(rows, fields)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// markdownEscapes are what would be more than text in a cell.
var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "<", `\<`, "[", `\[`, "\n", " ", "\r", " ")

func markdown(s string) string { return markdownEscapes.Replace(s) }

// codeSpan quotes what others wrote, so that it is not Markdown, in a cell of a table.
func codeSpan(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		s = " " + s + " "
	}
	return ticks + strings.ReplaceAll(s, "|", `\|`) + ticks
}
