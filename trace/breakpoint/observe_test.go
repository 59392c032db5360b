package breakpoint

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
