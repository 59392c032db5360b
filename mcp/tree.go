package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/calltree"
	"tracerag/session"
)

type treeArgs struct {
	Trace string `json:"trace,omitempty" jsonschema:"id of a trace, or @last (the default: one asks about the run just made), @prev, or a .pb.gz file below the working directory"`
	Focus string `json:"focus,omitempty" jsonschema:"show only this function and what it calls: a handle (#12), a range of handles from a mark (#12-40), a name (table.Render, (*Table).String) or a pattern with stars (*Border*). Default: the whole program, for an overview"`
	Depth int    `json:"depth,omitempty" jsonschema:"levels to show below the focus. Default: as many as fit, upper levels first, so that no depth has to be guessed"`
	Whole bool   `json:"whole,omitempty" jsonschema:"show also what the baseline run did. Default false: start-up work answers few questions"`
	budget
}

func (s *server) addCallTree(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "call_tree", Title: "Call tree", Description: `Who called whom in a recorded run, in the order of the first calls; repeats merged, recursion folded.
A line is "#HANDLE function xCOUNT file:line marks" (one call has no count; the position is at a function's first node, and ":L" is in the file above; "36|" is 36 levels of indent). Marks: "go at F:L" a goroutine and the go statement that started it; recursive (shown above); via (unrecorded functions lie between). With a focus the way to it is on its line, "... > " the same way as above; "f (again through g)" on a way: f called itself through g, and the rest of the way may be from in there.
The budget is filled breadth first. "[clipped: 12 nodes, ask call_tree focus=#71]" marks where more is.`},
		s.callTree)
}

func (s *server) callTree(_ context.Context, in treeArgs) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return answer[none]{}, err
	}
	if in.Depth < 0 {
		return answer[none]{}, fmt.Errorf("depth=%d: give a number of levels, or leave it out", in.Depth)
	}
	r, err := s.openRun(in.Whole, in.Trace)
	if err != nil {
		return answer[none]{}, err
	}
	text, err := s.treeText(r, in.Focus, in.Depth, limit)
	return answer[none]{text: text}, err
}

// treeText is the answer about a run's tree, or a part of it.
func (s *server) treeText(r *session.Run, focus string, depth, limit int) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", head(r))
	tree := r.Tree
	if focus == "" {
		fmt.Fprintf(&b, "%d nodes", tree.Size)
		if r.Pruned > 0 {
			fmt.Fprintf(&b, "; %d more were left out, which the baseline did, too (whole=true shows them)", r.Pruned)
		}
		b.WriteByte('\n')
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "not recorded: %s\n", cutText(n, 300))
		}
		if tree.Size == 0 {
			b.WriteString("the tree is empty: nothing was called that the baseline did not call, too, or nothing but package initialisation\n")
		}
	} else {
		if _, err := find(r, focus); err != nil {
			return "", err
		}
		var err error
		if tree, err = r.Tree.Focus(focus); err != nil {
			return "", err
		}
	}
	head := s.clip(limit/2, b.String())
	return head + s.tree(r, tree, depth, limit-s.count.Count(head)), nil
}

// tree renders a tree to a number of tokens.
func (s *server) tree(r *session.Run, tree *calltree.Tree, depth, limit int) string {
	return s.fit(limit, tree.Size, func(n int) string {
		var b strings.Builder
		v := calltree.View{Depth: depth, MaxNodes: n, Counts: true, Positions: true, IDs: true, Compact: true, File: r.File, Dependency: r.Dependency, Cut: func(nodes int, focus string) string {
			return clipped(nodes, "node", "call_tree focus="+focus)
		}}
		_ = tree.WriteText(&b, v) // a Builder does not fail
		return b.String()
	})
}

// clipped is the mark that is shown where something is missing.
func clipped(n int, what, ask string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("[clipped: %d %s, ask %s]", n, what, ask)
}

// find returns the nodes that an agent named. A function that the baseline called,
// too, is not in the tree, and an agent would take that for a mistyped name.
func find(r *session.Run, pattern string) ([]*calltree.Node, error) {
	found, err := r.Tree.Find(pattern)
	if err != nil && r.Pruned > 0 {
		return nil, fmt.Errorf("%w\nthe baseline's calls are left out: call_tree and source show them with whole=true", err)
	}
	return found, err
}

// label names a node in running text.
func label(n *calltree.Node) string {
	return fmt.Sprintf("%s #%d", calltree.ShortName(n.Func.Name), n.ID)
}
