package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/calltree"
	"tracerag/session"
	"tracerag/trace"
)

type compareArgs struct {
	A        string `json:"a,omitempty" jsonschema:"the first trace. Default @prev: one compares the run just made with the one before"`
	B        string `json:"b,omitempty" jsonschema:"the second trace. Default @last"`
	Focus    string `json:"focus,omitempty" jsonschema:"compare only this function and what it calls, in both: a name or a pattern with stars; handles are those of one trace and do not do. Default: the whole runs"`
	Question string `json:"question,omitempty" jsonschema:"what you want to know: the places that are about it come first. Default: those where most differs, start-up, flags and files last"`
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
	add(s, to, &sdk.Tool{Name: "compare", Title: "What two runs did differently", Description: `The call trees of two runs side by side: how many calls were added, removed, moved or made another number of times, where the runs part, and the callers below which they differ, the one that most likely matters first ("+" in b only, "-" in a only, ">" moved, "~" another count, "=" other values, "?" in one only, and the other run could not have recorded it). Handles are b's, and a's behind "-". What is the same is only counted. Times, lines and addresses do not matter.
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
	var relevance func(*trace.Function) float64
	if in.Question != "" {
		relevance = session.Relevance(v.Rank(in.Question))
	}
	d, err := session.CompareRuns(a, b, in.Focus, relevance)
	if err != nil {
		return out, err
	}
	out.facts = compareFacts{Equal: d.Equal(), Added: d.Added, Removed: d.Removed, Moved: d.Moved, Changed: d.Changed, Common: d.Common}
	if f := d.FirstDivergence; f != nil {
		out.facts.PathA, out.facts.PathB = pathNames(f.PathA()), pathNames(f.PathB())
	}
	head := "a: " + head(a) + "\n" + leftOut(a) + "b: " + head(b) + "\n" + leftOut(b)
	if a.Trace.Program.BuildID != b.Trace.Program.BuildID {
		head += "the runs are of different builds\n"
	}
	if !a.Trace.SamePackages(b.Trace) {
		head += session.OtherPackages + "\n"
	}
	head = s.clip(limit/2, head)
	total := d.Changed + d.Moved + d.Added + d.Removed + d.Unrecorded + d.Values
	text := s.fit(limit-s.count.Count(head), total, func(n int) string {
		var text strings.Builder
		view := calltree.View{MaxNodes: n, Counts: true, Positions: true, IDs: true, Compact: true, File: b.File, Dependency: b.Dependency, Cut: func(nodes int, focus string) string {
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

// leftOut is a line about what a run's tree was pruned by, or none.
func leftOut(r *session.Run) string {
	if note := r.PrunedNote(); note != "" {
		return "   " + note + "\n"
	}
	return ""
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
