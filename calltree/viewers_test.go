package calltree_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
)

// TestViewers holds what is written for other viewers to what they take for
// granted: frames close in the order in which they opened, slices of a track lie
// within each other, calls return. And every call of the tree is there.
func TestViewers(t *testing.T) {
	write := func(t *testing.T, f func(*bytes.Buffer) error, v any) {
		t.Helper()
		var out bytes.Buffer
		if err := f(&out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), v); err != nil {
			t.Fatal(err)
		}
	}
	each(t, func(t *testing.T, a, _ *trace.Trace) {
		tree, err := calltree.Build(a, calltree.Options{KeepInit: true})
		if err != nil {
			t.Fatal(err)
		}
		var calls int64
		tree.Walk(func(n *calltree.Node, _ int) bool { calls += n.Calls; return true })

		var scope struct {
			Shared struct {
				Frames []struct{ Name string }
			}
			Profiles []struct {
				EndValue int64
				Events   []struct {
					Type  string
					Frame int
					At    int64
				}
			}
		}
		write(t, func(b *bytes.Buffer) error { return tree.WriteSpeedscope(b, "") }, &scope)
		for i, want := range []int64{calls, int64(tree.Size)} {
			p := scope.Profiles[i]
			var open []int
			at := int64(0)
			for _, e := range p.Events {
				if e.At < at || e.At > p.EndValue || e.Frame < 0 || e.Frame >= len(scope.Shared.Frames) {
					t.Fatalf("speedscope: event %+v after %d of %d", e, at, p.EndValue)
				}
				at = e.At
				switch e.Type {
				case "O":
					open = append(open, e.Frame)
				case "C":
					if len(open) == 0 || open[len(open)-1] != e.Frame {
						t.Fatalf("speedscope: frame %d is closed within %v", e.Frame, open)
					}
					open = open[:len(open)-1]
				}
			}
			if len(open) > 0 || at != want || p.EndValue != want || len(p.Events) != 2*tree.Size {
				t.Errorf("speedscope: profile %d ends at %d of %d with %v open, want %d", i, at, p.EndValue, open, want)
			}
		}

		var chrome struct {
			TraceEvents []struct {
				Name          string
				Phase         string `json:"ph"`
				TS, Dur, TID  int
				ID            int
				Args          struct{ Calls int64 }
				BindEnclosing string `json:"bp"`
			}
		}
		write(t, func(b *bytes.Buffer) error { return tree.WriteChrome(b, "") }, &chrome)
		sum, slices, ends := int64(0), 0, map[int][]int{}
		arrows := map[int]string{}
		for _, e := range chrome.TraceEvents {
			switch e.Phase {
			case "X":
				sum += e.Args.Calls
				slices++
				open := ends[e.TID]
				for len(open) > 0 && open[len(open)-1] <= e.TS {
					open = open[:len(open)-1]
				}
				if e.Dur < 1 || len(open) > 0 && e.TS+e.Dur > open[len(open)-1] {
					t.Fatalf("chrome: slice %+v ends behind the one around it, at %v", e, open)
				}
				ends[e.TID] = append(open, e.TS+e.Dur)
			case "s", "f":
				arrows[e.ID] += e.Phase
			}
		}
		if sum != calls || slices != tree.Size {
			t.Errorf("chrome: %d calls in %d slices, want %d in %d", sum, slices, calls, tree.Size)
		}
		for id, phases := range arrows {
			if phases != "sf" {
				t.Errorf("chrome: arrow %d has the ends %q", id, phases)
			}
		}

		var appmap struct {
			ClassMap []struct {
				Children []struct {
					Children []struct{ Name, Location string }
				}
			}
			Events []struct {
				ID, Parent_id int
				Event         string
				Thread_id     int
				Calls         int64
			}
		}
		write(t, func(b *bytes.Buffer) error { return tree.WriteAppMap(b, calltree.AppMap{}) }, &appmap)
		sum, stacks := 0, map[int][]int{}
		for i, e := range appmap.Events {
			sum += e.Calls
			if e.ID != i+1 {
				t.Fatalf("appmap: event %d has the id %d", i, e.ID)
			}
			stack := stacks[e.Thread_id]
			switch e.Event {
			case "call":
				stacks[e.Thread_id] = append(stack, e.ID)
			case "return":
				if len(stack) == 0 || stack[len(stack)-1] != e.Parent_id {
					t.Fatalf("appmap: %d returns within %v", e.Parent_id, stack)
				}
				stacks[e.Thread_id] = stack[:len(stack)-1]
			}
		}
		if sum != calls || len(appmap.Events) != 2*tree.Size {
			t.Errorf("appmap: %d calls in %d events, want %d in %d", sum, len(appmap.Events), calls, 2*tree.Size)
		}
	})
}
