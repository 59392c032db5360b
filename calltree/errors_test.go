package calltree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
)

// bushy is a trace whose graph doubles with every level: two functions, each
// called by both of the level above.
func bushy(levels int) string {
	var b strings.Builder
	b.WriteString("main main.main\n")
	for _, last := range []string{"A", "B"} {
		for level := 1; level < levels; level++ {
			for _, next := range []string{"A", "B"} {
				indent := strings.Repeat("  ", level)
				if next != last {
					b.WriteString(indent + "p." + next + strings.Repeat("i", level) + "\n")
				}
			}
			b.WriteString(strings.Repeat("  ", level) + "p." + last + strings.Repeat("i", level) + "\n")
		}
	}
	return b.String()
}

func TestGraphLimit(t *testing.T) {
	tr := parseTrace(t, bushy(20))
	_, err := calltree.Build(tr, calltree.Options{Mode: calltree.Graph})
	var limit *calltree.LimitError
	if !errors.As(err, &limit) || limit.Limit != 100_000 {
		t.Fatalf("a graph of 2^20 nodes: %v", err)
	}
	for _, way := range []string{"default tree", "focus", "baseline"} {
		if !strings.Contains(err.Error(), way) {
			t.Errorf("%q does not name the way out %q", err, way)
		}
	}
	tree, err := calltree.Build(tr, calltree.Options{})
	if err != nil || tree.Size > len(tr.Nodes) {
		t.Errorf("the default tree of the same trace: %v", err)
	}
}

func TestGoroutinesInACircle(t *testing.T) {
	tr := parseTrace(t, "main main.main\ngo a.F\ngo a.G\n  a.H\n")
	tr.Nodes[1].Go.Creator, tr.Nodes[2].Go.Creator = trace.NodeID(3).Ref(), trace.NodeID(1).Ref()
	if _, err := calltree.Build(tr, calltree.Options{}); err == nil || !strings.Contains(err.Error(), "3 nodes") {
		t.Errorf("a trace in which F starts G, which calls H, which starts F: %v", err)
	}
}

func TestNotFoundSuggests(t *testing.T) {
	tree, err := calltree.Build(parseTrace(t, `main main.main
  example.com/app/table.(*Writer).drawBorder
  example.com/app/table.drawBorders
  example.com/app/table.Render
  example.com/app/csv.(*Reader).Read
`), calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string][]string{
		"drawborder":     {"table.drawBorders", "table.(*Writer).drawBorder"}, // letter case
		"Rneder":         {"table.Render"},                                    // swapped
		"table.Rendr":    {"table.Render"},                                    // left out, with the package
		"Reader.Raed":    {"csv.(*Reader).Read"},
		"(*Writer).draw": {"table.(*Writer).drawBorder"},
		// By the last element, whatever is before it.
		"lists.(*Printer).drawBorder": {"table.(*Writer).drawBorder", "table.drawBorders"},
		"example.com/app/csv.Render":  {"table.Render"},
		"csv.Raed":                    {"csv.(*Reader).Read"},
		"xyz":                         nil,
		"":                            nil,
	} {
		_, err := tree.Focus(pattern)
		var notFound *calltree.NotFoundError
		if !errors.As(err, &notFound) || notFound.Pattern != pattern || !slices.Equal(notFound.Suggestions, want) {
			t.Errorf("%q: %v, suggestions %q, want %q", pattern, err, notFound.Suggestions, want)
		}
		for _, s := range want {
			if _, err := tree.Focus(s); err != nil {
				t.Errorf("the suggestion %q does not work: %v", s, err)
			}
		}
	}
}

// full is a writer that has room for the first writes only.
type full struct{ room int }

var errFull = errors.New("no space left on device")

func (w *full) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	a, err := calltree.Build(wideTrace(500, 1), calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := calltree.Build(wideTrace(500, 2), calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := calltree.Compare(a, b)
	all := calltree.View{MaxNodes: -1}
	for name, err := range map[string]error{
		"text":       a.WriteText(&full{5000}, all),
		"json":       a.WriteJSON(&full{5000}),
		"dot":        a.WriteDOT(&full{5000}, all),
		"mermaid":    a.WriteMermaid(&full{5000}, all),
		"sequence":   a.WriteSequence(&full{5000}, all),
		"speedscope": a.WriteSpeedscope(&full{5000}, ""),
		"chrome":     a.WriteChrome(&full{5000}, ""),
		"appmap":     a.WriteAppMap(&full{5000}, calltree.AppMap{}),
		"diff":       d.WriteText(&full{5000}, all),
		"diff json":  d.WriteJSON(&full{5000}),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s on a full disk: %v", name, err)
		}
	}
}

func TestFileNames(t *testing.T) {
	tree, err := calltree.Build(parseTrace(t, "main main.main\n  main.run\n"), calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree.Roots[0].Func.File = `C:\src\app\main.go`
	tree.Roots[0].Children[0].Func.StartLine = 0
	var b strings.Builder
	if err := tree.WriteText(&b, calltree.View{Positions: true}); err != nil {
		t.Fatal(err)
	}
	v := calltree.View{Positions: true, File: func(f *trace.Function) string {
		if f.StartLine == 0 {
			return "" // not known to the caller
		}
		return "app/main.go"
	}}
	if err := tree.WriteText(&b, v); err != nil {
		t.Fatal(err)
	}
	want := "main.main main.go:10\n  main.run main.go\nmain.main app/main.go:10\n  main.run\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}
