package main

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
	h := hider{redact.New()}
	if got := h.mask()("export SECRET_KEY=" + token + " and more"); strings.Contains(got, token) {
		t.Fatalf("not masked: %s", got)
	}
	tr := &trace.Trace{Activations: []trace.Activation{{Args: []trace.Value{{Name: "s", Text: `"` + token + `"`}}, Results: []trace.Value{{Text: `"else"`}}}}}
	h.whole(tr)
	if got := tr.Activations[0]; strings.Contains(got.Args[0].Text, token) || got.Results[0].Text != `"else"` {
		t.Errorf("got %v", got)
	}
	var none hider
	if none.mask() != nil {
		t.Error("--no-redact masks")
	}
	none.whole(tr)
}
