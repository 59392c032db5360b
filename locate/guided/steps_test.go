package guided

import (
	"strings"
	"testing"
)

// TestSteps: one step of a model, in the forms that models write.
func TestSteps(t *testing.T) {
	for text, want := range map[string]string{
		"THINK: a\nACT: search_type T":             "a|search_type|T",
		"THINK:\nACT: callers pkg.F":               "|callers|pkg.F",
		"**Thought:** b\n**Action:** callers(`F`)": "b|callers|F",
		"ACT: search_function (*T).M":              "|search_function|(*T).M",
		"ACT: search_function(\"(*T).M\")":         "|search_function|(*T).M",
		"ACT: search_code no such option":          "|search_code|no such option",
		"ACT: executed_by F and then G":            "|executed_by|F",
		"ACT: executed_by":                         "executed_by needs a name, or a text",
		"ACT: run F":                               `"run" is no action: the actions are search_type, search_function, search_code, executed_by, callers`,
		"I am done.":                               `a line that begins with "ACT:" or "ANSWER:" is missing`,
	} {
		r := actReply{may: true}
		got := ""
		if err := r.read(text); err != nil {
			got = err.Error()
		} else {
			got = r.thought + "|" + r.action + "|" + r.argument
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	r := actReply{}
	if err := r.read("ACT: callers F"); err == nil || !strings.Contains(err.Error(), "nothing more can be looked at") {
		t.Error(err)
	}
}
