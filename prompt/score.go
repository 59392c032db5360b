package prompt

import (
	"fmt"
	"math"
	"strings"

	"tracerag/calltree"
	"tracerag/trace"
)

// scored is how relevant a function is, and why.
type scored struct {
	score float64
	why   string
}

// scores asks for the score of each function.
func (m *material) scores(score func(trace.Function) (float64, string)) map[trace.Function]scored {
	if score == nil {
		return m.defaultScores()
	}
	out := make(map[trace.Function]scored, len(m.order))
	for _, fn := range m.order {
		s, why := score(fn)
		if math.IsNaN(s) {
			s = 0
		}
		out[fn] = scored{s, why}
	}
	return out
}

// foreign is what a function counts for less that is not of the main module.
const foreign = 0.5

// defaultScores are for who has no question, or no opinion on it: what is
// high in the tree tells what the program did, what is low or is called
// without end how it did it, and a dependency is rarely what is asked about. Those
// called first go first among equals.
func (m *material) defaultScores() map[trace.Function]scored {
	depth := map[trace.Function]int{}
	calls := map[trace.Function]int64{}
	for i := range m.runs {
		m.runs[i].tree.Walk(func(n *calltree.Node, d int) bool {
			if old, ok := depth[*n.Func]; !ok || d < old {
				depth[*n.Func] = d
			}
			calls[*n.Func] += n.Calls
			return true
		})
	}
	out := make(map[trace.Function]scored, len(m.order))
	for _, fn := range m.order {
		d, n := depth[fn], calls[fn]
		s := scored{
			1 / (1 + float64(d)) / (1 + math.Log10(1+float64(n))/4),
			"the root, " + plural(int(n), "call"),
		}
		if d > 0 {
			s.why = fmt.Sprintf("%s below %s", plural(d, "level"), s.why)
		}
		if file := m.texts[fn].Display; moduleOf(file) != "" || strings.HasPrefix(file, "std/") {
			s.score *= foreign
			s.why += ", of a dependency"
		}
		out[fn] = s
	}
	return out
}
