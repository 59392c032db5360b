package session

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/store"
)

// compared saves two runs with their baseline, and opens them to be compared.
func compared(t *testing.T, o TreeOptions, baseline, a, b []string, change func(a, b *trace.Trace)) (*Session, []*View) {
	t.Helper()
	s := &Session{Store: store.Open(t.TempDir())}
	base := saved(t, s.Store.Baselines(), "", []string{"./app", "--version"}, baseline...)
	var names []string
	traces := []*trace.Trace{traced(a...), traced(b...)}
	change(traces[0], traces[1])
	for i, tr := range traces {
		tr.Recorder, tr.Command, tr.Baseline = "probe", []string{"./app", string('a' + rune(i))}, base.ID
		e, err := s.Store.Save(tr)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.ID)
	}
	o.Compared = true
	views, err := s.Open(names, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, views
}

func diffText(t *testing.T, d *calltree.Diff) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.WriteText(&b, calltree.View{Counts: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func unchanged(a, b *trace.Trace) {}

// TestCompareWholeRuns: counts are those of the whole runs. The baseline pruned draw in
// a, where it called nothing else, and not in b.
func TestCompareWholeRuns(t *testing.T) {
	draw, border := "main.main>main.draw", "main.main>main.draw>main.border"
	s, views := compared(t, TreeOptions{}, []string{"main.main", draw}, []string{"main.main", draw, draw},
		[]string{"main.main", draw, draw, draw, draw, draw, draw, draw, border}, unchanged)
	if views[0].Pruned != 2 || views[1].Pruned != 0 {
		t.Fatalf("%d and %d nodes were pruned", views[0].Pruned, views[1].Pruned)
	}
	d := s.Compare(views[0], views[1], Ignored{}, "")
	if got := diffText(t, d); !strings.Contains(got, "~ main.draw x2 -> x7\n+   main.border\n") || d.Added != 1 || d.Changed != 1 {
		t.Errorf("%s", got)
	}
	// What both runs' trees left out stays out.
	s, views = compared(t, TreeOptions{}, []string{"main.main", draw}, []string{"main.main", draw}, []string{"main.main", draw, draw}, unchanged)
	if d := s.Compare(views[0], views[1], Ignored{}, ""); !d.Equal() || d.B.Size != 0 {
		t.Errorf("of what a baseline did: %s", diffText(t, d))
	}
}

// TestComparePrunedValues: a function that both runs called alike, and the baseline, too,
// is a difference if it returned something else.
func TestComparePrunedValues(t *testing.T) {
	width, draw := "main.main>main.width", "main.main>main.draw"
	s, views := compared(t, TreeOptions{}, []string{"main.main", width}, []string{"main.main", width, draw}, []string{"main.main", width, draw}, func(a, b *trace.Trace) {
		for i, tr := range []*trace.Trace{a, b} {
			tr.Activations = []trace.Activation{{Node: 1, Returned: true, Results: []trace.Value{{Type: "int", Text: string('3' + rune(i))}}}}
		}
	})
	d := s.Compare(views[0], views[1], Ignored{}, "")
	if got := diffText(t, d); !strings.Contains(got, "= main.width result: 3 -> 4\n") || !d.Equal() {
		t.Errorf("%s", got)
	}
}

// TestCompareUnrecorded: what the other run could not have recorded is not added.
func TestCompareUnrecorded(t *testing.T) {
	show := "main.main>main.show"
	a, b := []string{"main.main", show}, []string{"main.main", show, show + ">lib.Escape", "main.main>main.tiny", "main.main>main.new"}
	s, views := compared(t, TreeOptions{Baseline: NoBaseline}, nil, a, b, func(a, b *trace.Trace) {
		b.Include = []string{"example.com/..."}
		for i := range b.Functions {
			if b.Functions[i].Name == "lib.Escape" {
				b.Functions[i].Package = "example.com/lib"
			}
		}
		a.Losses = []trace.Loss{{Kind: trace.LossNotHooked, Function: "main.tiny"}}
	})
	d := s.Compare(views[0], views[1], Ignored{}, "")
	got := diffText(t, d)
	if d.Added != 1 || d.Unrecorded != 2 || !strings.Contains(got, "? lib.Escape\n") || !strings.Contains(got, "? main.tiny\n") || !strings.Contains(got, "+ main.new\n") {
		t.Errorf("%s", got)
	}
	if d.Places[0].Nodes[len(d.Places[0].Nodes)-1].Node().Func.Name != "main.new" {
		t.Errorf("what was added is not the first place:\n%s", got)
	}
}

// TestCompareFocus: what a focus is on need be in one of the runs only.
func TestCompareFocus(t *testing.T) {
	show := "main.main>main.show"
	s, views := compared(t, TreeOptions{Focus: []string{"main.border"}, Baseline: NoBaseline}, nil,
		[]string{"main.main", show}, []string{"main.main", show, show + ">main.border", "main.main>main.other"}, unchanged)
	d := s.Compare(views[0], views[1], Ignored{}, "")
	if got := diffText(t, d); d.Added != 1 || d.Removed != 0 || d.Common != 2 || !strings.Contains(got, "main.main > main.show\n+ main.border\n") {
		t.Errorf("%s", got)
	}
	var missing *calltree.NotFoundError
	if _, err := s.Open([]string{views[0].Entry.ID, views[1].Entry.ID}, TreeOptions{Focus: []string{"main.nowhere"}, Compared: true}); !errors.As(err, &missing) {
		t.Errorf("a function of neither run: %v", err)
	}
	var handle *HandleError
	if _, err := CompareRuns(s.Run(views[0]), s.Run(views[1]), "#2", nil); !errors.As(err, &handle) {
		t.Errorf("a handle of two runs: %v", err)
	}
}

// TestCompareRelevance: with a question, the place that is about it comes first.
func TestCompareRelevance(t *testing.T) {
	var a, b []string
	a = append(a, "main.main", "main.main>main.big", "main.main>main.small")
	b = append(a, "main.main>main.big>main.one", "main.main>main.big>main.two", "main.main>main.big>main.two>main.three", "main.main>main.small>main.border")
	s, views := compared(t, TreeOptions{Baseline: NoBaseline}, nil, a, b, unchanged)
	first := func(relevance func(*trace.Function) float64) string {
		d, err := CompareRuns(s.Run(views[0]), s.Run(views[1]), "", relevance)
		if err != nil {
			t.Fatal(err)
		}
		return d.Places[0].Nodes[0].Node().Func.Name
	}
	if got := first(nil); got != "main.one" {
		t.Errorf("without a question %s is first", got)
	}
	if got := first(func(f *trace.Function) float64 { return map[string]float64{"main.border": 0.9}[f.Name] }); got != "main.border" {
		t.Errorf("with a question about borders %s is first", got)
	}
}
