package recordtest

import (
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/symbol"
)

// Activations are the observed calls of a trace, each as a line: "main.f(a int = 1) -> err error = nil".
func Activations(tr *trace.Trace) []string {
	list := func(values []trace.Value) string {
		var out []string
		for _, v := range values {
			s := strings.TrimSpace(v.Name+" "+v.Type) + " = " + v.Text
			if v.Unread != "" {
				s += "(" + v.Unread + ")"
			}
			out = append(out, s)
		}
		return strings.Join(out, ", ")
	}
	var lines []string
	for _, a := range tr.Activations {
		s := symbol.ElideArguments(tr.Func(a.Node).Name) + "(" + list(a.Args) + ")"
		switch {
		case !a.Returned:
			s += " did not return"
		case len(a.Results) > 0:
			s += " -> " + list(a.Results)
		}
		lines = append(lines, s)
	}
	return lines
}

// SameActivations compares the observed calls of a trace with those that the program printed, a line each in any order. Calls of
// functions that the program prints nothing of don't count. For some lines something else is expected.
func SameActivations(t *testing.T, tr *trace.Trace, printed string, instead map[string]string) {
	t.Helper()
	function := func(line string) string {
		// A receiver may be in parentheses, too.
		end := strings.IndexByte(line[len("main.("):], '(')
		return line[:len("main.(")+end]
	}
	want, functions := map[string]int{}, map[string]bool{}
	used := map[string]bool{}
	for line := range strings.Lines(printed) {
		line = strings.TrimSuffix(line, "\n")
		functions[function(line)] = true
		if other, ok := instead[line]; ok {
			used[line] = true
			line = other
		}
		want[line]++
	}
	for line := range instead {
		if !used[line] {
			t.Errorf("the program does not print\n%s", line)
		}
	}
	for _, line := range Activations(tr) {
		if !functions[function(line)] {
			continue
		}
		if want[line] == 0 {
			t.Errorf("the program did not print\n%s", line)
		}
		want[line]--
	}
	for line := range strings.Lines(printed) {
		line = strings.TrimSuffix(line, "\n")
		if other, ok := instead[line]; ok {
			line = other
		}
		if want[line] > 0 {
			t.Errorf("not observed:\n%s", line)
			want[line]--
		}
	}
}
