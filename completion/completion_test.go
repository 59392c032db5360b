package completion

import "testing"

// TestCompletionsArePlain: what a trace holds is another's text. In a shell it is
// neither an escape sequence nor a command.
func TestCompletionsArePlain(t *testing.T) {
	c := &completer{}
	c.add("TestA", "go test \x1b[31m-run\tA\x07\nmore")
	c.add("$(reboot)", "")
	c.add("a b", "")
	if len(c.found) != 1 || c.found[0] != (candidate{"TestA", "go test  [31m-run A "}) {
		t.Errorf("offered: %q", c.found)
	}
}
