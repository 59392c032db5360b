package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
)

// ContextTokens is what a text for an agent has where nobody asked for another size:
// enough for some functions and the names of a hundred others.
const ContextTokens = 3_000

// Parts of a context, in per cent. The names of other functions have what is left.
const (
	contextSources = 45
	contextWays    = 12
	contextTypes   = 10
	// contextFunction is the most that one function has of the sources.
	contextFunction = 45
	// contextLeast is the relevance, in parts of the best one's, from which a source is
	// shown: below it a name does.
	contextLeast = .08
)

// Context says which code the question is about, in at most so many tokens, to somebody
// who can ask for more with [Reader.ContextOf]: the ways to the best functions, their
// sources, the types that these name, and the names of other functions that ran. It is
// for agents, which pay for each word and have been told elsewhere how to read it.
func (r *Reader) Context(limit int) string {
	r.enter()
	r.terse = true
	g := &Pieces{}
	var shown []*entry
	var whole, forms []*item
	room := limit * contextSources / 100
	least := 0.
	for i, e := range byScore(r.all) {
		if i == 0 {
			least = e.score * contextLeast
		}
		if e.score < least || e.score == 0 || room < limit/20 {
			break
		}
		form := r.m.atMost(e.it, &r.o, min(room, limit*contextSources*contextFunction/10_000))
		p := r.piece(e, form)
		if p.Tokens > room {
			continue
		}
		room -= p.Tokens
		r.shown[e] = true
		g.Sources = append(g.Sources, p)
		shown, whole, forms = append(shown, e), append(whole, e.it), append(forms, form)
	}
	r.readTypes(g, whole, forms, limit*contextTypes/100)
	ways := r.ways(shown, limit*contextWays/100)
	text := r.write(ways, g)
	r.near()
	names := limit - r.Count(text) - 30 // for the heading
	if others := r.Index(names); others != "" && names > 0 {
		text += "## " + r.m.words().others + "\n\n" + others
	}
	return text
}

// ContextOf shows what is asked for in the same form.
func (r *Reader) ContextOf(requests []Request, limit int) string {
	r.enter()
	r.terse = true
	for room := limit; ; room = room * 9 / 10 { // headings and modules are beside what is read
		clear(r.shown)
		clear(r.declared)
		text := r.write("", r.Read(requests, room))
		if r.Count(text) <= limit || room < limit/4 {
			return text
		}
	}
}

// write writes what was read for an agent.
func (r *Reader) write(ways string, g *Pieces) string {
	var b strings.Builder
	add := func(heading string, texts ...string) {
		if len(texts) > 0 {
			fmt.Fprintf(&b, "## %s\n\n%s\n\n", heading, strings.TrimSpace(strings.Join(texts, "\n")))
		}
	}
	if ways != "" {
		add("Ways", ways)
	}
	if len(g.Lists) > 0 {
		add("Callers, callees and packages", g.Lists...)
	}
	texts := func(list []Reading) (out []string) {
		for _, p := range list {
			out = append(out, strings.TrimSpace(p.Text))
		}
		return out
	}
	add("Sources", texts(g.Sources)...)
	add("Types", texts(g.Types)...)
	if legend := r.legend(g); legend != "" {
		add("Modules", strings.ReplaceAll(strings.TrimSpace(legend), "\n", ", "))
	}
	if len(g.Notes) > 0 {
		add("Not shown", g.Notes...)
	}
	return b.String()
}

// legend says what the short names of modules mean that headings of what was read have.
func (r *Reader) legend(g *Pieces) string {
	files := map[string]bool{}
	for _, p := range slices.Concat(g.Sources, g.Types) {
		head, _, _ := strings.Cut(p.Text, "\n")
		for _, m := range positionPattern().FindAllStringSubmatch(head, -1) {
			first, _, _ := strings.Cut(m[1], "/")
			files[first] = true
		}
	}
	if len(files) == 0 {
		return ""
	}
	return r.m.modules.legend(files)
}

// ways are the lines that lead to functions, in at most so many tokens: with as many of the
// callers by name as there is room for.
func (r *Reader) ways(of []*entry, room int) string {
	first := r.firstNodes(of)
	for _, callers := range []int{20, 12, 8, 5, 3} {
		if lines := r.wayLines(of, first, callers); r.Count(strings.Join(lines, "")) <= room {
			return strings.Join(lines, "")
		}
	}
	var b strings.Builder
	for i, line := range r.wayLines(of, first, 3) {
		if room -= r.Count(line); room < 0 && i > 0 {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// wayLines has a line for the functions of one caller.
func (r *Reader) wayLines(of []*entry, first map[*item]*placed, callers int) (lines []string) {
	var ways []string
	names := map[string][]string{}
	for _, e := range of {
		n := first[e.it]
		if n == nil {
			continue
		}
		way := n.node.WayBy(callers)
		if n.label != "" {
			way = strings.TrimSuffix(n.label+": "+way, ": ")
		}
		if names[way] == nil {
			ways = append(ways, way)
		}
		names[way] = append(names[way], e.fullName()+e.times())
	}
	for _, way := range ways {
		lines = append(lines, oneLine(strings.TrimPrefix(way+" > "+strings.Join(names[way], ", "), " > "))+"\n")
	}
	return lines
}

// placed is a node of one of the trees.
type placed struct {
	node  *calltree.Node
	label string // of the run, where there are two
}

// firstNodes are the first nodes of functions.
func (r *Reader) firstNodes(of []*entry) map[*item]*placed {
	first := map[*item]*placed{}
	for _, e := range of {
		first[e.it] = nil
	}
	for i := range r.m.runs {
		run := &r.m.runs[i]
		for n := range nodes(run.tree) {
			it := r.m.items[*n.Func]
			if at, ok := first[it]; ok && at == nil && it != nil {
				first[it] = &placed{n, run.label}
			}
		}
	}
	return first
}

// folded lists packages of which no function is listed, the most relevant ones first, in
// at most so many tokens, and says how many others there are.
func (r *Reader) folded(of []*entries, left map[*entries]int, room int) string {
	byBest := slices.Clone(of)
	slices.SortStableFunc(byBest, func(a, b *entries) int { return cmp.Compare(b.best, a.best) })
	listed := map[*entries]string{}
	for _, p := range byBest {
		text := fmt.Sprintf("%s %s (%d)", p.handle, p.title(), left[p])
		if room -= r.Count(text) + 1; room < 0 && len(listed) > 0 {
			break
		}
		listed[p] = text
	}
	var texts []string
	others, functions := 0, 0
	for _, p := range of {
		if listed[p] == "" {
			others++
			functions += left[p]
			continue
		}
		texts = append(texts, listed[p])
	}
	if others > 0 {
		texts = append(texts, fmt.Sprintf("%s with %s that only a longer index has", phrase.Plural(others, "more package", "more packages"), functionsText(functions)))
	}
	return "[folded, with the number of their functions: " + strings.Join(texts, ", ") + "]\n"
}
