package session

import (
	"fmt"
	"slices"
	"testing"

	"tracerag/trace"
)

// TestLossNotes has what a trace lacks in words: those of many functions in one line,
// others each in a line of its own.
func TestLossNotes(t *testing.T) {
	tr := &trace.Trace{Losses: []trace.Loss{
		{Kind: trace.LossNotHooked, Function: "a.b", Detail: "too short"},
		{Kind: trace.LossNotHooked, Function: "a.c", Count: 2},
		{Kind: trace.LossFloor, Function: "a.d", Count: 200},
		{Kind: trace.LossOverflow, Count: 1, Detail: "calls in 3 contexts"},
		{Kind: trace.LossOther, Detail: "which lines ran is not known"},
		{Kind: trace.LossOther, Count: 7, Detail: "stacks without functions"},
	}}
	want := []string{
		"1 call not recorded: calls in 3 contexts",
		"which lines ran is not known",
		"7: stacks without functions",
		"1 function was called so often that watching it was given up: counts with a + are floors, and later callers are missing",
		"1 function could not be watched",
		"some inlined calls of 1 function could not be watched: those that called nothing are missing",
	}
	if got := lossNotes(tr); !slices.Equal(got, want) {
		t.Errorf("the notes are\n%q\nwant\n%q", got, want)
	}
}

// TestManyLosses: a trace from elsewhere may hold any number of losses, and a prompt has
// some lines of them.
func TestManyLosses(t *testing.T) {
	tr := &trace.Trace{}
	for i := range 50_000 {
		tr.Losses = append(tr.Losses, trace.Loss{Kind: trace.LossOther, Detail: fmt.Sprint("detail ", i)})
	}
	notes := lossNotes(tr)
	if len(notes) != 10 || notes[0] != "detail 0" || notes[9] != "and 49,991 more like these" {
		t.Errorf("%d notes: %q", len(notes), notes[:min(len(notes), 12)])
	}
}
