package probe

import (
	"testing"

	"tracerag/trace/recordtest"
)

var forks = built("./testdata/forks")

// TestForks records a program that forks and starts no other program: two processes write
// to the recorder's memory, as if they were one. Both compute what they do alone, and
// what of the tree is damaged by that is left out and a loss.
func TestForks(t *testing.T) {
	for range 3 {
		r := sameRun(t, recordtest.Run{Job: recordtest.Job{Args: []string{path(t, forks)}}})
		if n := recordtest.Counts(r.Trace)["main.main"]; n != 1 {
			t.Errorf("main.main was recorded %d times", n)
		}
	}
}
