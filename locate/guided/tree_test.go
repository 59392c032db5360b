package guided

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/locate/treesearch"
)

// nameOf names a node.
func nameOf(t *Tree, n treesearch.Node) string {
	x := &t.nodes[n]
	switch {
	case x.decl != nil:
		return x.decl.Name
	case x.file != "":
		return path.Base(x.file)
	case x.pkg != "":
		return x.pkg
	}
	i := slices.IndexFunc(t.repos, func(r knowledge.Repository) bool { return r.ID == x.repository })
	return t.repos[i].Name
}

// TestTree: what is below each node, and in which order.
func TestTree(t *testing.T) {
	g, store := searchGuide(t, nil)
	store.Edges = append(store.Edges,
		knowledge.Edge{Kind: knowledge.Interface, Caller: numberOf(t, store, "Show"), Callee: numberOf(t, store, "half")},
		knowledge.Edge{Kind: knowledge.Ran, Caller: numberOf(t, store, "Show"), Callee: numberOf(t, store, "Far"), Count: 3, Trace: "1"},
		knowledge.Edge{Kind: knowledge.Interface, Caller: numberOf(t, store, "Show"), Callee: numberOf(t, store, "O.Near")},
		knowledge.Edge{Kind: knowledge.Static, Caller: numberOf(t, store, "Show"), Callee: numberOf(t, store, "TestShow")})
	draw := func(q locate.Question) string {
		f, err := locate.Find(t.Context(), store, q, g.Options)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := NewTree(t.Context(), store, q, f)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		var walk func(n, depth int)
		walk = func(n, depth int) {
			for _, c := range tree.Children(node64(n)) {
				fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", depth), nameOf(tree, c))
				if d := tree.Decl(c); d != nil && d.Name == "Show" {
					for _, r := range tree.References(c) {
						fmt.Fprintf(&b, "%s> %s\n", strings.Repeat(" ", depth), nameOf(tree, r))
					}
				}
				walk(int(c), depth+1)
			}
		}
		walk(int(tree.Root), 0)
		if tree.err != nil {
			t.Fatal(tree.err)
		}
		return b.String()
	}
	want := `a
 example.com/app/table
  table.go
   Draw
   (*T).Fit
   half
 example.com/app
  app.go
   Show
   > Draw
   > Far
   > O.Near
   > half
 example.com/app/other
  other.go
   Far
   O.Near
`
	if got := draw(locate.Question{Text: "draws the border"}); got != want {
		t.Errorf("got\n%s", got)
	}
	// What ran comes first, whatever its words.
	if got := draw(locate.Question{Text: "draws the border", Ran: []locate.RanFunction{{Package: "example.com/app/other", Name: "O.Near", Score: 1}}}); !strings.HasPrefix(got, "a\n example.com/app/other\n  other.go\n   O.Near\n   Far\n example.com/app/table\n") {
		t.Errorf("got\n%s", got)
	}
	if got := draw(locate.Question{Text: "draws the border", In: "other/..."}); got != "a\n example.com/app/other\n  other.go\n   Far\n   O.Near\n" {
		t.Errorf("got\n%s", got)
	}
}
