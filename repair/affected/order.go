package affected

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Of a function that a hundred tests run, the first few that run it in different ways find
// nearly all that the hundred find. So tests are ordered by what they add, for the time that they take: a
// caller, a line of a call, an order of magnitude of calls that the tests before them have not had. When nothing is
// new any more, it begins afresh with those that are left. What does not fit into the budget waits until the end; shorter
// tests behind it may still fit.

// candidate is a test that may be chosen.
type candidate struct {
	Test
	seconds float64
	ways    []uint64
}

// order makes the Selection. The test programs of some packages are built.
func (w *want) order(deps []*pkg, built []string) *Selection {
	out := &Selection{Notes: w.notes, why: w.why}
	chosen := map[Test]bool{}
	opened := map[string]bool{}
	for _, name := range built {
		opened[name] = true
	}
	add := func(t Test) {
		if !chosen[t] {
			chosen[t], opened[t.Package] = true, true
			out.Tests = append(out.Tests, t)
		}
	}
	for _, p := range deps {
		if why := w.whole[p.path]; why != "" {
			out.Whole = append(out.Whole, Whole{p.path, why})
			for _, name := range p.tests {
				add(Test{p.path, name})
			}
		}
	}
	for _, t := range slices.SortedFunc(maps.Keys(w.sure), compareTests) {
		add(t)
	}
	var left []*candidate
	for _, t := range slices.SortedFunc(maps.Keys(w.reached), compareTests) {
		if !chosen[t] {
			left = append(left, &candidate{t, w.m.seconds(t), slices.Sorted(maps.Keys(w.reached[t]))})
		}
	}
	// Less than half of what another test program costs is not worth saving.
	budget := max(w.m.options.Share*w.m.suite(), opening/2)
	spent := 0.0
	out.First = len(out.Tests)
	for _, t := range out.Tests {
		out.Seconds += w.m.seconds(t)
	}
	var later []Test
	covered := map[uint64]bool{}
	for len(left) > 0 {
		best, score, fresh := 0, -1.0, false
		for i, c := range left {
			gain := 0
			for _, way := range c.ways {
				if !covered[way] {
					gain++
				}
			}
			cost := c.seconds + 0.002
			if !opened[c.Package] {
				cost += opening
			}
			if s := float64(gain) / cost; s > score {
				best, score = i, s
			}
			fresh = fresh || gain > 0
		}
		if !fresh && len(covered) > 0 {
			clear(covered)
			continue
		}
		c := left[best]
		left = slices.Delete(left, best, best+1)
		cost := c.seconds
		if !opened[c.Package] {
			cost += opening
		}
		switch {
		case out.First == 0: // one is always chosen, whatever it costs
		case spent+cost > budget:
			later = append(later, c.Test)
			continue
		default:
			spent += cost
		}
		for _, way := range c.ways {
			covered[way] = true
		}
		add(c.Test)
		out.First, out.Seconds = len(out.Tests), out.Seconds+c.seconds
	}
	for _, t := range later {
		add(t)
	}
	return out
}

// seconds is how long a test took.
func (m *Map) seconds(t Test) float64 {
	if p := m.programs[t.Package]; p != nil {
		for _, x := range p.Tests {
			if x.Name == t.Name {
				return x.Seconds
			}
		}
	}
	return 0
}

// suite is how long all tests take, as far as that is known.
func (m *Map) suite() (sum float64) {
	for _, name := range m.Packages() {
		sum += opening
		if p := m.programs[name]; p != nil {
			for _, t := range p.Tests {
				sum += t.Seconds
			}
		}
	}
	return sum
}

func compareTests(a, b Test) int {
	return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Name, b.Name))
}
