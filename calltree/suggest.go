package calltree

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tracerag/trace/symbol"
)

// suggest returns up to three short names that pattern may have meant: names
// that contain it, names that a few typing errors make of it, and names that end as it
// does: a package or a receiver is remembered worse than the name behind it.
func suggest(pattern string, known map[string]names) []string {
	p := strings.ToLower(strings.ReplaceAll(plain(pattern), "*", ""))
	if p == "" {
		return nil
	}
	type candidate struct {
		name     string
		distance int
		shared   int // elements that it has in common with the pattern
	}
	elements := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune("./*()", r) })
	}
	words := elements(p)
	last := ""
	if len(words) > 1 {
		last = words[len(words)-1]
	}
	var found []candidate
	// A third of the letters wrong is another word.
	limit := max(1, len(p)/3)
	for linker, n := range known {
		best := math.MaxInt
		for _, form := range []string{n.short, n.local, n.last} {
			form = strings.ToLower(form)
			if strings.Contains(form, p) {
				best = 0
				break
			}
			if d := editDistance(p, form, limit+1); d <= limit {
				best = min(best, d)
			}
		}
		if few := max(1, len(last)/3); last != "" {
			if d := editDistance(last, strings.ToLower(n.last), few+1); d <= few {
				best = min(best, 2+3*d) // the whole with one or two errors is nearer
			}
		}
		if best == math.MaxInt {
			continue
		}
		shared := 0
		for _, e := range elements(plain(symbol.Short(linker))) {
			if last != "" && slices.Contains(words, e) {
				shared++
			}
		}
		found = append(found, candidate{symbol.Short(linker), best, shared})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.shared, a.shared), cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range found {
		if len(out) < 3 && !slices.Contains(out, c.name) {
			out = append(out, c.name)
		}
	}
	return out
}

// editDistance returns the number of insertions, deletions, replacements and
// swaps of neighbours that make b of a, or some number of at least stop when
// it is not less than that.
func editDistance(a, b string, stop int) int {
	if d := len(a) - len(b); d >= stop || -d >= stop {
		return stop
	}
	// before, above and row are the last three rows of the usual table, whose
	// cell i, j holds the distance of a[:i] and b[:j].
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := row[0]
		for j := 1; j <= len(b); j++ {
			change := 0
			if a[i-1] != b[j-1] {
				change = 1
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= stop {
			return stop
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
