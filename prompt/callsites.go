package prompt

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// callSite is where a function calls another one.
type callSite struct {
	line int
	to   *item
	via  bool // by functions that were not recorded, as sort.Sort
}

// callers has the call sites of all functions, as far as the call trees know them.
type callers struct {
	sites map[*item][]callSite // by line
	count map[*item]int        // of the functions that call one
	score map[*item]float64    // of the callees, with what those of the main module are preferred by
}

// mostCalls is how many call sites stand for what a prompt doesn't show of a function: behind its name, or in the
// mark of a gap. With eight the names take so much that fewer fit.
const mostCalls = 6

// callSites looks through the call trees. A closure is a part of the function around it: calls of it say
// nothing, and calls by it are those of that function.
func (m *material) callSites(score map[*item]float64) *callers {
	c := &callers{sites: map[*item][]callSite{}, count: map[*item]int{}, score: score}
	type call struct{ from, to *item }
	seen := map[call]bool{}
	for i := range m.runs {
		for n := range nodes(m.runs[i].tree) {
			if n.Parent == nil || n.Process != nil {
				continue
			}
			from, to := m.items[*n.Parent.Func], m.items[*n.Func]
			if from == nil || to == nil || from == to || !m.owns(to, *n.Func) || movesLines(from.source.Body) {
				continue
			}
			if from.note != "" {
				continue // the lines of a text that may not be what ran
			}
			if !seen[call{from, to}] {
				seen[call{from, to}] = true
				c.count[to]++
			}
			for _, line := range n.Lines {
				// The lines of inlined code may be those of another file.
				if line >= from.source.Start && line <= from.source.End && from.source.Start > 0 {
					c.sites[from] = append(c.sites[from], callSite{line, to, n.Flags.Has(trace.Via)})
				}
			}
		}
	}
	c.written()
	return c
}

// ordered has each site once, by line.
func ordered(sites []callSite) []callSite {
	slices.SortFunc(sites, byLine)
	return slices.CompactFunc(sites, func(a, b callSite) bool { return a.line == b.line && a.to.key == b.to.key })
}

// any reports whether a call's line is known.
func (c *callers) any() bool { return c != nil && len(c.sites) > 0 }

// movesLines reports whether a source has a comment that gives what follows other lines.
func movesLines(body string) bool {
	return strings.Contains(body, "//line ") || strings.Contains(body, "/*line ")
}

func byLine(a, b callSite) int {
	if c := cmp.Or(a.line-b.line, strings.Compare(a.to.key, b.to.key)); c != 0 || a.via == b.via {
		return c
	}
	if a.via {
		return 1
	}
	return -1
}

// text lists calls that a function makes between two lines of its file: "New 118; .Close 134; .Less 140 via". Of each callee it has the
// first one, of many callees the most relevant, and rather one that hardly anything else calls than one
// that everything does. It is empty where none are known.
func (c *callers) text(it *item, from, to int) string {
	if c == nil {
		return ""
	}
	var sites []callSite
	had := map[*item]bool{}
	for _, s := range c.sites[it] {
		if s.line >= from && s.line <= to && !had[s.to] {
			had[s.to] = true
			sites = append(sites, s)
		}
	}
	if len(sites) > mostCalls {
		worth := func(s callSite) float64 { return c.score[s.to] + 1/float64(c.count[s.to]) }
		slices.SortStableFunc(sites, func(a, b callSite) int { return cmp.Compare(worth(b), worth(a)) })
		sites = sites[:mostCalls]
		slices.SortFunc(sites, byLine)
	}
	var calls []string
	for _, s := range sites {
		call := s.to.calledName() + " " + strconv.Itoa(s.line)
		if s.via {
			call += " via"
		}
		calls = append(calls, call)
	}
	return strings.Join(slices.Compact(calls), "; ") // two types may have methods of one name
}

// calledName is the name of a function where it is called: of a method ".Render", as in the list of
// names behind its type. The closure in a method is "Render.func1".
func (it *item) calledName() string {
	name := symbol.WithoutArguments(it.bareName())
	if it.source.Kind != source.Closure {
		return name[len(receiverOf(name)):]
	}
	if _, inMethod, ok := strings.Cut(name, ")."); ok {
		return inMethod
	}
	return name
}

// gap is what a mark says of the calls between two lines that it stands for.
func (c *callers) gap(it *item, from, to int) string {
	if text := c.text(it, from, to); text != "" {
		return ": " + text
	}
	return ""
}
