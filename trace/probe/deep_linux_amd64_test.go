package probe

import (
	"strconv"
	"testing"

	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// TestDeep has a call at each level of a recursion of the standard library. How many
// frames calls walk past grows as their number does, not as its square.
func TestDeep(t *testing.T) {
	const ofALevel = 10 // frames, at most
	for _, levels := range []int{1000, 4000} {
		tgt, err := target.Find([]string{path(t, deep), strconv.Itoa(levels), "level"}, t.TempDir(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Start(t.Context(), tgt, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		tr, err := l.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := recordtest.Counts(tr)["main.next"]; got != int64(levels) {
			t.Errorf("%d levels: %d calls", levels, got)
		}
		tree, err := l.read()
		if err != nil {
			t.Fatal(err)
		}
		if tree.Walked > uint64(ofALevel*levels) {
			t.Errorf("%d levels: calls went past %d frames in long walks", levels, tree.Walked)
		}
		t.Logf("%d levels: past %d frames in long walks", levels, tree.Walked)
	}
}
