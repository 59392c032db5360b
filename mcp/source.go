package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/calltree"
	"tracerag/prompt"
	"tracerag/session"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

type sourceArgs struct {
	Function string `json:"function" jsonschema:"a name (table.Render, (*Table).String, Render), a node's handle (#12), or a pattern with stars (*Border*)"`
	Trace    string `json:"trace,omitempty" jsonschema:"id of a trace, @last (the default), @prev, or a .pb.gz file below the working directory"`
	FromLine int    `json:"from_line,omitempty" jsonschema:"begin at this line of the file, as a mark said. Default: the function's first"`
	Whole    bool   `json:"whole,omitempty" jsonschema:"look also among the functions that the baseline run called. Default false"`
	budget
}

func (s *server) addSource(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "source", Title: "Source of a function", Description: `The source of a function that ran, as it was compiled, from whichever module it is in, with line numbers as in context, without statements that did not run ([lines 31-90 left out: did not run]), and handles of what called it and what it called.
A name that several functions have gives all of them, in call order, as far as the budget goes.`},
		s.source)
}

func (s *server) source(_ context.Context, in sourceArgs) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return answer[none]{}, err
	}
	if strings.TrimSpace(in.Function) == "" {
		return answer[none]{}, fmt.Errorf("no function: give a name or a handle such as #12 (rank and call_tree have them)")
	}
	r, err := s.openRun(in.Whole, in.Trace)
	if err != nil {
		return answer[none]{}, err
	}
	found, err := find(r, in.Function)
	if err != nil {
		return answer[none]{}, err
	}
	var b strings.Builder
	listings := listingsOf(found)
	var left []*listing
	for i, l := range listings {
		l.text = r.Source(*l.nodes[0].Func)
		l.ran = r.Lines(*l.nodes[0].Func)
		room := limit - s.count.Count(b.String())
		if len(listings) > 1 {
			room -= 60 // for the mark of those that do not fit
		}
		if i == 0 {
			b.WriteString(s.listing(l, in.FromLine, room))
			continue
		}
		if text := "\n" + l.head() + joined(l.body(0)); s.count.Count(text) <= room {
			b.WriteString(text)
			continue
		}
		left = append(left, l)
	}
	if len(left) > 0 {
		var handles []string
		for _, l := range left[:min(len(left), 5)] {
			handles = append(handles, fmt.Sprintf("#%d", l.nodes[0].ID))
		}
		b.WriteString("\n" + clipped(len(left), "function", "source function="+strings.Join(handles, ", ")) + "\n")
	}
	return answer[none]{text: b.String()}, nil
}

// listing is a function with its nodes.
type listing struct {
	nodes []*calltree.Node
	text  source.Text
	ran   []trace.Lines // of it
}

// listingsOf puts the nodes of each function together, in call order.
func listingsOf(nodes []*calltree.Node) []*listing {
	var out []*listing
	at := map[string]*listing{}
	for _, n := range nodes {
		l := at[n.Func.Name]
		if l == nil {
			l = &listing{}
			at[n.Func.Name] = l
			out = append(out, l)
		}
		l.nodes = append(l.nodes, n)
	}
	return out
}

// listing is a function's text to a number of tokens.
func (s *server) listing(l *listing, from, limit int) string {
	body := l.body(from)
	text := l.head() + joined(body)
	if s.count.Count(text) <= limit {
		return text
	}
	head := l.head()
	if room := limit / 3; s.count.Count(head) > room {
		head = s.clip(room, head) // a function that everything calls, or calls everything
	}
	limit -= s.count.Count(head) + 60 // for the mark
	n := 0
	for used := 0; n < len(body); n++ {
		if used += s.count.Count(body[n].Text) + 1; used > limit {
			break
		}
	}
	if n == 0 {
		// One line that alone is too long: machines write such.
		return head + cutText(body[0].Text, max(0, limit)) + "\n" + clipped(len(body)-1, "line", "with a larger max_tokens") + "\n"
	}
	rest := fmt.Sprintf("source function=#%d from_line=%d", l.nodes[0].ID, body[n].From)
	return head + joined(body[:n]) + clipped(l.text.End-body[n].From+1, "line", rest) + "\n"
}

func joined(lines []prompt.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text)
	}
	return b.String()
}

// neighboursShown is how many callers, and callees, a listing names.
const neighboursShown = 12

// head says what a listing is of, and what is around it.
func (l *listing) head() string {
	var b strings.Builder
	n := l.nodes[0]
	fmt.Fprintf(&b, "%s", label(n))
	if l.text.Display != "" {
		fmt.Fprintf(&b, " %s:%d-%d", l.text.Display, l.text.Start, l.text.End)
	}
	fmt.Fprintf(&b, ", %s", countOf(l.nodes))
	if len(l.nodes) > 1 {
		fmt.Fprintf(&b, " at %d places", len(l.nodes))
	}
	b.WriteByte('\n')
	var callers, callees []*calltree.Node
	for _, n := range l.nodes {
		if n.Parent != nil {
			callers = append(callers, n.Parent)
		}
		callees = append(callees, n.Children...)
	}
	writeNeighbours(&b, "called by", callers, n.ID)
	writeNeighbours(&b, "calls", callees, n.ID)
	if l.text.Parent != "" {
		fmt.Fprintf(&b, "part of %s\n", calltree.ShortName(l.text.Parent))
	}
	if l.text.Warning != "" {
		fmt.Fprintf(&b, "warning: %s\n", l.text.Warning)
	}
	return b.String()
}

// writeNeighbours names functions, each by its first node.
func writeNeighbours(b *strings.Builder, what string, nodes []*calltree.Node, of int) {
	var names []string
	seen := map[string]bool{}
	more := 0
	for _, n := range nodes {
		switch {
		case seen[n.Func.Name]:
			continue
		case len(names) == neighboursShown:
			more++
		default:
			names = append(names, label(n))
		}
		seen[n.Func.Name] = true
	}
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "%s: %s", what, strings.Join(names, ", "))
	if more > 0 {
		fmt.Fprintf(b, ", %s", clipped(more, "function", fmt.Sprintf("call_tree focus=#%d", of)))
	}
	b.WriteByte('\n')
}

// body is the text from a line of the file on, with the doc comment before it, in the form
// in which context has it.
func (l *listing) body(from int) []prompt.Line {
	switch {
	case l.text.Body == "":
		return []prompt.Line{{Text: "no source: " + l.text.Kind.String() + "\n"}}
	case l.text.Start > 0 && from > l.text.End:
		return []prompt.Line{{Text: fmt.Sprintf("the function ends at line %d\n", l.text.End)}}
	}
	return prompt.Numbered(l.text, l.ran, from)
}

// countOf is how often a function was called at some nodes: every tool counts so, and so
// the answers agree.
func countOf(nodes []*calltree.Node) string {
	var calls int64
	var marks trace.Flags
	for _, n := range nodes {
		calls += n.Calls
		marks |= n.Flags
	}
	return cmp.Or(calltree.CountText(calls, marks), "x1")
}

// callsTo are the nodes of a declaration in some runs: of the function itself and its
// instances, or, where these did not run, of the closures in it.
func callsTo(runs []*session.Run, decl string) []*calltree.Node {
	var own, closures []*calltree.Node
	for _, r := range runs {
		r.Tree.Walk(func(n *calltree.Node, _ int) bool {
			switch {
			case n.Func.Name == decl, symbol.Canonical(n.Func.Name) == decl && !strings.Contains(strings.TrimPrefix(n.Func.Name, decl), ".func"):
				own = append(own, n)
			case symbol.Canonical(n.Func.Name) == decl:
				closures = append(closures, n)
			}
			return true
		})
	}
	if len(own) > 0 {
		return own
	}
	return closures
}

// nodeOf finds the first node of a function, or of one that is a part of it, by the
// linker name of its declaration; nil if the trees have none.
func nodeOf(runs []*session.Run, decl string) *calltree.Node {
	for _, r := range runs {
		var exact, part *calltree.Node
		r.Tree.Walk(func(n *calltree.Node, _ int) bool {
			switch {
			case exact != nil:
			case n.Func.Name == decl:
				exact = n
			case part == nil && symbol.Canonical(n.Func.Name) == decl:
				part = n
			}
			return exact == nil
		})
		if exact != nil || part != nil {
			return firstNode(exact, part)
		}
	}
	return nil
}

func firstNode(a, b *calltree.Node) *calltree.Node {
	if a != nil {
		return a
	}
	return b
}
