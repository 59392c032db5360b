package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/calltree"
	"tracerag/session"
)

type compareArgs struct {
	A     string `json:"a,omitempty" jsonschema:"the first trace. Default @prev: one compares the run just made with the one before"`
	B     string `json:"b,omitempty" jsonschema:"the second trace. Default @last"`
	Focus string `json:"focus,omitempty" jsonschema:"compare only this function and what it calls, in both: a name or a pattern with stars; handles are those of one trace and do not do. Default: the whole runs"`
	budget
}

// compareFacts is the structured content of compare.
type compareFacts struct {
	Equal   bool `json:"equal" jsonschema:"same functions in the same order as often"`
	Added   int  `json:"added" jsonschema:"nodes in b only"`
	Removed int  `json:"removed" jsonschema:"nodes in a only"`
	Moved   int  `json:"moved"`
	Changed int  `json:"changed" jsonschema:"nodes called another number of times"`
	Common  int  `json:"common"`
	// PathA and PathB lead to where the runs part.
	PathA []string `json:"first_divergence_a,omitempty" jsonschema:"functions from the root to where a parts from b first"`
	PathB []string `json:"first_divergence_b,omitempty"`
	Text  string   `json:"text" jsonschema:"the differences as a tree, as in the text of the answer"`
}

func (s *server) addCompare(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "compare", Title: "What two runs did differently", Description: `The call trees of two runs side by side: how many calls were added, removed, moved or made another number of times, where the runs first part, and the tree of the differences ("+" in b only, "-" in a only, ">" moved, "~" another count, "=" other values). What is the same is only counted. Times, lines and addresses do not matter.
To find why a test fails, compare it with one that passes.`},
		s.compare)
}

func (s *server) compare(_ context.Context, in compareArgs) (answer[compareFacts], error) {
	var out answer[compareFacts]
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return out, err
	}
	if in.A == "" {
		in.A = "@prev"
	}
	v, err := s.open(false, in.A, in.B)
	if err != nil {
		return out, err
	}
	a, b := v.Runs[0], v.Runs[1]
	trees, err := focusBoth(a.Tree, b.Tree, in.Focus)
	if err != nil {
		return out, err
	}
	d := calltree.Compare(trees[0], trees[1])
	out.facts = compareFacts{Equal: d.Equal(), Added: d.Added, Removed: d.Removed, Moved: d.Moved, Changed: d.Changed, Common: d.Common}
	if f := d.FirstDivergence; f != nil {
		out.facts.PathA, out.facts.PathB = pathNames(f.PathA()), pathNames(f.PathB())
	}
	head := fmt.Sprintf("a: %s\nb: %s\n", head(a), head(b))
	if a.Trace.Program.BuildID != b.Trace.Program.BuildID {
		head += "the runs are of different builds\n"
	}
	if !a.Trace.SamePackages(b.Trace) {
		head += session.OtherPackages + "\n"
	}
	head = s.clip(limit/2, head)
	total := d.Common + d.Changed + d.Moved + d.Added + d.Removed
	text := s.fit(limit-s.count.Count(head), total, func(n int) string {
		var text strings.Builder
		view := calltree.View{MaxNodes: n, Counts: true, Positions: true, File: b.File, Cut: func(nodes int, focus string) string {
			if focus == "" || focus == in.Focus {
				return clipped(nodes, "node", "compare with a larger max_tokens")
			}
			return clipped(nodes, "node", fmt.Sprintf("compare focus=%q", focus))
		}}
		_ = d.WriteText(&text, view) // a Builder does not fail
		return text.String()
	})
	out.text = head + text
	out.facts.Text = s.Mask(text)
	return out, nil
}

// focusBoth narrows two trees to the same functions. One of them may lack those: then
// that is the difference, and the way to them is none.
func focusBoth(a, b *calltree.Tree, pattern string) ([2]*calltree.Tree, error) {
	out := [2]*calltree.Tree{a, b}
	if pattern == "" {
		return out, nil
	}
	if strings.HasPrefix(pattern, "#") {
		return out, fmt.Errorf("focus=%s: a handle is one trace's, and here are two: give the function's name", pattern)
	}
	var nodes [2][]*calltree.Node
	var errs [2]error
	for i, t := range out {
		nodes[i], errs[i] = t.Find(pattern)
	}
	if errs[0] != nil && errs[1] != nil {
		return out, errs[1]
	}
	for i, t := range out {
		if errs[0] != nil || errs[1] != nil {
			out[i] = forest(t, nodes[i])
			continue
		}
		var err error
		if out[i], err = t.Focus(pattern); err != nil {
			return out, err
		}
	}
	return out, nil
}

// forest is the part of a tree below some nodes, with no way to them.
func forest(t *calltree.Tree, nodes []*calltree.Node) *calltree.Tree {
	in := make(map[*calltree.Node]bool, len(nodes))
	for _, n := range nodes {
		in[n] = true
	}
	out := &calltree.Tree{Sampled: t.Sampled}
	for _, n := range nodes {
		inner := false
		for up := n.Parent; up != nil && !inner; up = up.Parent {
			inner = in[up]
		}
		if !inner {
			out.Roots = append(out.Roots, n)
		}
	}
	out.Walk(func(*calltree.Node, int) bool { out.Size++; return true })
	return out
}

// pathShown bounds a path: structured content has a budget, too.
const pathShown = 20

func pathNames(path []*calltree.Node) []string {
	var out []string
	for _, n := range path[max(0, len(path)-pathShown):] {
		out = append(out, calltree.ShortName(n.Func.Name))
	}
	return out
}
