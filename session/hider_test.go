package session

import (
	"strings"
	"testing"

	"tracerag/redact"
	"tracerag/trace"
)

// What was masked in a part of a value is masked in the others: nothing that is saved
// tells later that it is secret.
func TestHiderMasksWholeValuesToo(t *testing.T) {
	token := "SEbC1mZR" + "YxoG9ckQwIR976BsBqV08cI8"
	h := &Hider{redact.New()}
	if got := h.Text("export SECRET_KEY=" + token + " and more"); strings.Contains(got, token) {
		t.Fatalf("not masked: %s", got)
	}
	tr := &trace.Trace{Activations: []trace.Activation{{Args: []trace.Value{{Name: "s", Text: `"` + token + `"`}}, Results: []trace.Value{{Text: `"else"`}}}}}
	h.Whole(tr)
	if got := tr.Activations[0]; strings.Contains(got.Args[0].Text, token) || got.Results[0].Text != `"else"` {
		t.Errorf("got %v", got)
	}
}
