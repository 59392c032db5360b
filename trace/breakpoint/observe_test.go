package breakpoint

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// observed prints the observed calls of some functions, an activation a line, in the
// order of the nodes.
func observed(tr *trace.Trace, of map[string]int64) string {
	var b strings.Builder
	list := func(values []trace.Value) string {
		var out []string
		for _, v := range values {
			s := strings.TrimSpace(v.Name+" "+v.Type) + " = " + v.Text
			if v.Unread != "" {
				s += "(" + v.Unread + ")"
			}
			if v.Cut {
				s += " cut"
			}
			out = append(out, s)
		}
		return strings.Join(out, ", ")
	}
	for _, a := range tr.Activations {
		name := recordtest.Instance.ReplaceAllString(tr.Func(a.Node).Name, "[...]")
		if of[name] == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s(%s)", name, list(a.Args))
		switch {
		case !a.Returned:
			b.WriteString(" did not return")
		case len(a.Results) > 0:
			fmt.Fprintf(&b, " -> %s", list(a.Results))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// What is read does not depend on how the program was compiled. The golden files were
// held against the programs' sources by hand.
func TestObserve(t *testing.T) {
	builds := [][]string{nil, {"-gcflags=all=-l"}, {"-gcflags=all=-N -l"}, {"-buildmode=pie"}, {"-trimpath"}}
	for _, program := range []string{"values", "places", "panics"} {
		for _, flags := range builds {
			if program == "panics" && flags != nil && flags[0] != "-gcflags=all=-N -l" {
				continue // what ends a call does not hang on how values are passed
			}
			t.Run(strings.Join(append([]string{program}, flags...), " "), func(t *testing.T) {
				r := record(t, recordingTest{Job: job{Args: []string{fixtures.Build(t, program, flags...)}, MaxHits: unlimited, Observe: true}})
				want := fixtures.Want(t, program)
				delete(want, "main.inGoroutine.func1") // it need not have returned when main ends
				got := observed(r.Trace, want)
				recordtest.Golden(t, filepath.Join("testdata", program+".values"), got, *update && flags == nil)
			})
		}
	}
}

// A function that is called all the time is let go, and what is asked for is there
// nevertheless: no node has more calls observed than were made of it, or than one asked
// for, and the program runs to its end.
func TestObserveIsBounded(t *testing.T) {
	path := fixtures.Build(t, "counters")
	r := record(t, recordingTest{Job: job{Args: []string{path}, MaxHits: 20, Observe: true}})
	if !strings.Contains(r.Stderr, "timed out: false") || len(r.Trace.Activations) == 0 {
		t.Errorf("%d activations, %s", len(r.Trace.Activations), r.Stderr)
	}
	seen := map[trace.NodeID]int64{}
	for _, a := range r.Trace.Activations {
		seen[a.Node]++
	}
	for id, n := range seen {
		if n > 8 {
			t.Errorf("%d calls of %s are observed, 8 were asked for", n, r.Trace.Func(id).Name)
		}
	}

	// A run that takes too long is ended, and what it showed is kept.
	start := time.Now()
	r = record(t, recordingTest{Job: job{Args: []string{path}, MaxHits: 20, Observe: true, ObserveLimit: time.Millisecond}})
	if !strings.Contains(r.Stderr, "timed out: true") || time.Since(start) > recordtest.Timeout/2 {
		t.Errorf("after %v: %s", time.Since(start), r.Stderr)
	}
}

// Secrets are looked for before a string is cut: afterwards they cannot be recognized.
func TestObserveMasksWhatItCuts(t *testing.T) {
	path := fixtures.Build(t, "values")
	r := record(t, recordingTest{Job: job{Args: []string{path}, MaxHits: unlimited, Observe: true, ObserveMask: "long long"}})
	want := "main.text(s string = \"[MASKED] [MASKED] [MASKED] [MASKED] [MASKED] [MA\"... cut)"
	got := observed(r.Trace, map[string]int64{"main.text": 1, "main.login": 1})
	if !strings.Contains(got, want) || !strings.Contains(got, "main.text(s string = \"short\")") {
		t.Errorf("%s\nhas no %s", got, want)
	}
}

// What has no values says why.
func TestObserveRefuses(t *testing.T) {
	for _, c := range []struct{ flags, want string }{
		{"-ldflags=-w", "no DWARF"},
		{"-ldflags=-s -w", "no DWARF"},
	} {
		cmd, _ := command(t, t.Context(), job{Args: []string{fixtures.Build(t, "values", c.flags)}, MaxHits: unlimited, Observe: true})
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "ptrace") {
			t.Skip("ptrace is not permitted here")
		}
		if err == nil || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), "build it without") {
			t.Errorf("%s: %v, %s", c.flags, err, out)
		}
	}
}

// Two goroutines of one statement in a function that is called from two places are two
// nodes. Which one a stack is of cannot be seen: rather none than the wrong one.
func TestNodesOfGoroutines(t *testing.T) {
	build := func(creators bool) *trace.Trace {
		tr := &trace.Trace{}
		b := trace.NewBuilder(tr)
		fn := func(name string) trace.FuncID { return b.Func(trace.Function{Name: name}) }
		mainf, start, work, leaf := fn("main.main"), fn("main.start"), fn("main.work"), fn("main.leaf")
		root := trace.Root{Kind: trace.RootMain}
		for _, line := range []int{3, 4} {
			at := b.Call(root, []trace.Frame{{Func: mainf}, {Func: start, CallLine: line}}, 1)
			g := trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Func: "main.start", Line: 9}}
			if creators {
				g.Go.Creator = at.Ref()
			}
			b.Call(g, []trace.Frame{{Func: work}, {Func: leaf, CallLine: 12}}, 1)
		}
		return b.Finish()
	}
	first, second := build(true), build(false)
	x := newNodeIndex(first)
	for i := range second.Nodes {
		id := trace.NodeID(i)
		got := x.find(second, id)
		switch name := second.Func(id).Name; name {
		case "main.work", "main.leaf":
			if got != trace.NoNode {
				t.Errorf("%s is taken for node %d, and may be another", name, got)
			}
		default:
			if got == trace.NoNode || first.Func(got).Name != name || first.Nodes[got].CallLine != second.Nodes[id].CallLine {
				t.Errorf("%s is taken for node %d", name, got)
			}
		}
	}
}

// An option that has no effect: of a text the values show it where it is read, of a file
// where it gets lost.
func TestObserveAFlagOnItsWay(t *testing.T) {
	path := fixtures.Build(t, "tablecat")
	csv := filepath.Join(fixtures.Dir("tablecat"), "data.csv")
	functions := map[string]int64{"main.show": 1, "main.showFile": 1, "example.com/tablecat/internal/textview.Render": 1, "example.com/tablecat/internal/csvview.Render": 1}
	for _, c := range []struct {
		args []string
		want []string // parts of lines
	}{
		{[]string{path, ":sparkle:", "--emoji"}, []string{"main.show(o *main.options = &{kind: 0, resource: \":sparkle:\", emoji: true,", "textview.Render(", "o textview.Options = {Emoji: true, Align: \"left\", Width: 80}"}},
		{[]string{path, ":sparkle:"}, []string{"emoji: false,", "o textview.Options = {Emoji: false,"}},
		{[]string{path, "--csv", csv, "--emoji"}, []string{"main.showFile(o *main.options = &{kind: 1,", "emoji: true,", "csvview.Render(w io.Writer = *os.File(&{name: \"/dev/stdout\"}) cut, text string = \"Language,First"}},
	} {
		r := record(t, recordingTest{Job: job{Args: c.args, Include: []string{"example.com/tablecat/..."}, MaxHits: unlimited, Observe: true}})
		got := observed(r.Trace, functions)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q: no %q in\n%s", c.args[1:], want, got)
			}
		}
		for line := range strings.Lines(got) {
			if strings.Contains(line, "csvview.Render(") && strings.Contains(strings.ToLower(line), "emoji") {
				t.Errorf("the option reaches %s", line)
			}
		}
	}
}
