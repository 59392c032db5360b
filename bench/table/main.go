// Table lays out the benchmarks of package bench: it reads what go test -bench
// prints, and prints a table for each benchmark, with the bars that the figures
// are held against. What it does not understand it prints as it is.
//
//	go test -run '^$' -bench . -benchtime=1x ./bench | go run ./bench/table
//
// It fails when the tests did, not when a bar is missed: on a busy machine that
// may mean nothing.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	ok, err := tables(os.Stdout, os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// A table is one benchmark: a row for each of its parts.
type table struct {
	name    string
	columns []string // units, in the order in which they first appear
	rows    []row
}

type row struct {
	name    string
	values  map[string]string // by unit
	missing string            // why there are none
}

var (
	result  = regexp.MustCompile(`^Benchmark(\w+)/([^\s]+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	skipped = regexp.MustCompile(`^\s*--- SKIP: Benchmark(\w+)/([^\s]+?)(?:-\d+)?$`)
	reason  = regexp.MustCompile(`^\s+\w+_test\.go:\d+: (.*)$`)
	noise   = regexp.MustCompile(`^(goos|goarch|pkg|PASS|ok\s|=== |Benchmark\w+(/\S+)?\s*$|\s*$)`)
)

// tables reads r to its end, passes on what it does not understand at once, and
// then prints the tables. It reports whether nothing failed.
func tables(w io.Writer, r io.Reader) (ok bool, err error) {
	ok = true
	var all []*table
	get := func(name string) *table {
		for _, t := range all {
			if t.name == name {
				return t
			}
		}
		all = append(all, &table{name: name})
		return all[len(all)-1]
	}
	var because *string // of the row that was just skipped
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		why := because
		because = nil
		if m := result.FindStringSubmatch(line); m != nil {
			get(m[1]).add(m[2], strings.Fields(m[3]))
		} else if m := skipped.FindStringSubmatch(line); m != nil {
			t := get(m[1])
			t.rows = append(t.rows, row{name: m[2]})
			because = &t.rows[len(t.rows)-1].missing
		} else if m := reason.FindStringSubmatch(line); m != nil && why != nil {
			*why = m[1]
		} else if !noise.MatchString(line) {
			if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
				ok = false
			}
			fmt.Fprintln(w, line)
		}
	}
	for _, t := range all {
		t.print(w)
	}
	return ok, lines.Err()
}

// add adds a row of values, each followed by its unit.
func (t *table) add(name string, fields []string) {
	r := row{name: name, values: map[string]string{}}
	for i := 0; i+1 < len(fields); i += 2 {
		value, unit := fields[i], fields[i+1]
		if unit == "ns/op" {
			continue // the benchmarks report times of their own
		}
		if !slices.Contains(t.columns, unit) {
			t.columns = append(t.columns, unit)
		}
		r.values[unit] = value
	}
	t.rows = append(t.rows, r)
}

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", heading(t.name))
	columns := slices.Clone(t.columns)
	slices.SortStableFunc(columns, func(a, b string) int { return rank(t.name, a) - rank(t.name, b) })
	lines := [][]string{append([]string{""}, columns...)}
	var verdicts []string
	for _, r := range t.rows {
		cells := []string{r.name}
		if r.values == nil {
			cells = append(cells, r.missing)
		} else {
			for _, unit := range columns {
				cells = append(cells, readable(r.values[unit]))
			}
		}
		lines = append(lines, cells)
		verdicts = append(verdicts, verdict(t.name, r)...)
	}
	width := make([]int, len(columns)+1)
	for _, cells := range lines {
		for i, c := range cells {
			if i == 0 || len(cells) == len(width) { // a reason goes across
				width[i] = max(width[i], len(c))
			}
		}
	}
	for _, cells := range lines {
		fmt.Fprintf(w, "  %-*s", width[0], cells[0])
		for i, c := range cells[1:] {
			if len(cells) == len(width) {
				c = fmt.Sprintf("%*s", width[i+1], c)
			}
			fmt.Fprintf(w, "  %s", c)
		}
		fmt.Fprintln(w)
	}
	for _, v := range verdicts {
		fmt.Fprintln(w, v)
	}
}

// readable writes a number as people do: with thousands apart, and no more digits
// than it is worth.
func readable(value string) string {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	digits := 2
	switch {
	case x >= 1000 || x <= -1000 || x == float64(int64(x)):
		digits = 0
	case x >= 100 || x <= -100:
		digits = 1
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}
