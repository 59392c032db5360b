package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// count decides whether what a criterion expects is alone in an answer, by how
// often each candidate is named. Candidates are numbers.
type count struct {
	entries  []string // of the criterion
	expected []map[int]bool
	beside   map[int]bool // no candidates
	name     func(int) string

	// What the answer names, an entry for each time, with all that may be meant.
	text, code [][]int
}

func newCount(entries, beside []string, find func(string) []int) *count {
	c := &count{entries: entries, beside: map[int]bool{}}
	add := func(set map[int]bool, entry string) {
		for _, one := range Alternatives(entry) {
			for _, i := range find(one) {
				set[i] = true
			}
		}
	}
	for _, e := range entries {
		set := map[int]bool{}
		add(set, e)
		c.expected = append(c.expected, set)
	}
	for _, e := range beside {
		add(c.beside, e)
	}
	return c
}

// targets are what one entry or another expects.
func (c *count) targets() map[int]bool {
	all := map[int]bool{}
	for _, set := range c.expected {
		for i := range set {
			all[i] = true
		}
	}
	return all
}

// apart takes candidates out.
func (c *count) apart(set map[int]bool) {
	for i := range set {
		c.beside[i] = true
	}
}

func (c *count) mark(all bool) Mark {
	if all {
		return c.markAll()
	}
	targets := c.targets()
	named, often := -1, 0
	for _, meant := range slices.Concat(c.text, c.code) {
		if i := slices.IndexFunc(meant, func(i int) bool { return targets[i] }); i >= 0 {
			if named < 0 {
				named = meant[i]
			}
			often++ // a declaration in a block counts for what is expected
		}
	}
	if named < 0 {
		return Mark{Why: "not named: " + strings.Join(c.entries, ", ")}
	}
	times := map[int]int{}
	for _, meant := range c.text {
		if slices.ContainsFunc(meant, func(i int) bool { return targets[i] || c.beside[i] }) {
			continue
		}
		for _, i := range meant {
			times[i]++
		}
	}
	var rivals []int
	for i, n := range times {
		if n >= often {
			rivals = append(rivals, i)
		}
	}
	if len(rivals) == 0 {
		return Mark{Share: 1, Why: "names " + c.name(named)}
	}
	slices.SortFunc(rivals, func(a, b int) int {
		return cmp.Or(times[b]-times[a], strings.Compare(c.name(a), c.name(b)))
	})
	return Mark{Share: 0.5, Why: fmt.Sprintf("names %s, and as often %s", c.name(named), c.someOf(rivals))}
}

func (c *count) markAll() Mark {
	var missing []string
	for k, set := range c.expected {
		if !slices.ContainsFunc(slices.Concat(c.text, c.code), func(meant []int) bool {
			return slices.ContainsFunc(meant, func(i int) bool { return set[i] })
		}) {
			missing = append(missing, c.entries[k])
		}
	}
	return shareOf("names", len(c.entries), missing)
}

// shareOf marks a criterion of several entries that count alike.
func shareOf(what string, entries int, missing []string) Mark {
	m := Mark{Share: float64(entries-len(missing)) / float64(entries)}
	m.Why = fmt.Sprintf("%d of %d %s", entries-len(missing), entries, what)
	if len(missing) > 0 {
		m.Why += "; not " + strings.Join(missing, ", ")
	}
	return m
}

// someOf names a few.
func (c *count) someOf(all []int) string {
	const most = 3
	var names []string
	for _, i := range all[:min(most, len(all))] {
		names = append(names, c.name(i))
	}
	text := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// narrow leaves of all that may be meant each time what is meant for certain at
// another time, if there is such a thing.
func narrow(lists ...[][]int) {
	sure := map[int]bool{}
	for _, list := range lists {
		for _, meant := range list {
			if len(meant) == 1 {
				sure[meant[0]] = true
			}
		}
	}
	for _, list := range lists {
		for k, meant := range list {
			var left []int
			for _, i := range meant {
				if sure[i] {
					left = append(left, i)
				}
			}
			if left != nil {
				list[k] = left
			}
		}
	}
}
