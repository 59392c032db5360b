package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/calltree"
	"tracerag/trace"
)

type valuesArgs struct {
	Function string `json:"function,omitempty" jsonschema:"a name, a handle (#12) or a pattern with stars. Default: every function whose calls were observed"`
	Trace    string `json:"trace,omitempty" jsonschema:"id of a trace, @last (the default), @prev, or a .pb.gz file below the working directory"`
	budget
}

func (s *server) addValues(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "values", Title: "Arguments and results", Description: `What functions were given and what they returned in the recorded run, of the calls that were observed: by place in the call tree, one call a line, arguments by name, then the results.
Values are observed only if record was called with values, or the user asked for them when recording. A trace without them says so.`},
		s.values)
}

func (s *server) values(_ context.Context, in valuesArgs) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return answer[none]{}, err
	}
	r, err := s.openRun(true, in.Trace)
	if err != nil {
		return answer[none]{}, err
	}
	var nodes []*calltree.Node
	if in.Function != "" {
		if nodes, err = r.Tree.Find(in.Function); err != nil {
			return answer[none]{}, err
		}
	} else {
		r.Tree.Walk(func(n *calltree.Node, _ int) bool { nodes = append(nodes, n); return true })
	}
	nodes = slices.DeleteFunc(nodes, func(n *calltree.Node) bool { return len(n.Values) == 0 })
	if len(nodes) == 0 {
		of := ""
		if in.Function != "" && len(r.Trace.Activations) > 0 {
			of = " of " + in.Function
		}
		return answer[none]{}, &NoValuesError{Trace: r.ID, Of: of}
	}
	head := head(r) + "\n"
	text := s.fit(limit-s.count.Count(head), valueLines(nodes), func(n int) string { return writeValues(nodes, n) })
	return answer[none]{text: head + text}, nil
}

// NoValuesError says that no values were observed in a run.
type NoValuesError struct {
	Trace string // its id
	Of    string // " of FUNCTION", or "" of any
}

func (e *NoValuesError) Error() string {
	return fmt.Sprintf("trace %s holds no values%s: they are observed only when a run is recorded with values=FUNCTION (record)", e.Trace, e.Of)
}

// valueLines is how many calls were observed.
func valueLines(nodes []*calltree.Node) int {
	n := 0
	for _, node := range nodes {
		n += len(node.Values)
	}
	return n
}

// writeValues writes the first n observed calls, the first of each node before the second
// of any: where room is short, many functions tell more than many calls of one.
func writeValues(nodes []*calltree.Node, n int) string {
	shown := make([]int, len(nodes))
	for round, left := 0, min(n, valueLines(nodes)); left > 0; round++ {
		for i, node := range nodes {
			if round < len(node.Values) && left > 0 {
				shown[i]++
				left--
			}
		}
	}
	var b strings.Builder
	hidden := 0
	for i, node := range nodes {
		if shown[i] == 0 {
			hidden++
			continue
		}
		fmt.Fprintf(&b, "%s: %s observed\n", label(node), callsOf(node))
		for j := range node.Values[:shown[i]] {
			fmt.Fprintf(&b, "  %s\n", activation(&node.Values[j]))
		}
		if more := len(node.Values) - shown[i]; more > 0 {
			fmt.Fprintf(&b, "  %s\n", clipped(more, "call", fmt.Sprintf("values function=#%d", node.ID)))
		}
	}
	if hidden > 0 {
		fmt.Fprintln(&b, clipped(hidden, "node", "with a larger max_tokens or a function"))
	}
	return b.String()
}

func callsOf(n *calltree.Node) string {
	if int64(len(n.Values)) >= n.Calls {
		return fmt.Sprintf("%d of %d calls", len(n.Values), len(n.Values))
	}
	return fmt.Sprintf("the first %d of %d calls", len(n.Values), n.Calls)
}

// activation writes an observed call: (name type = text, ...) -> results.
func activation(a *trace.Activation) string {
	text := "(" + valueTexts(a.Args) + ")"
	switch {
	case !a.Returned:
		return text + " did not return"
	case len(a.Results) > 0:
		return text + " -> (" + valueTexts(a.Results) + ")"
	}
	return text
}

// valueBytes bounds one value's text: a single one can hold a whole document.
const valueBytes = 600

func valueTexts(list []trace.Value) string {
	var out []string
	for i := range list {
		v := &list[i]
		text := cutText(v.Text, valueBytes)
		switch {
		case v.Unread != "":
			text = "not read: " + v.Unread
		case v.Cut && !strings.HasSuffix(text, "..."):
			text += "..."
		}
		if name := strings.TrimSpace(v.Name + " " + v.Type); name != "" {
			text = name + " = " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
