package main

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"tracerag/trace/recordtest"
)

// TestEachAtTerminal: the progress has a line of its own, in which nothing else
// is written. -timeout is each test's own: the one that hangs ends, and the others
// have their turn.
func TestEachAtTerminal(t *testing.T) {
	dir := recordtest.HangingTests(t)
	cmd := exec.Command("jobshell", commandPath(t), "run", "--each", "--", "go", "test", "-timeout=3s", "./lib")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm")
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "\rtracerag: recording tests: 1 of 3 ... ")
	term.Await(t, "\r\x1b[Kpanic: test timed out after 3s\r\n")
	term.Await(t, "[exit code 1, the terminal its own: true, in the same mode: true]")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	traces := recordtest.Saved(t, dir)
	if names := recordtest.Names(traces); !slices.Equal(names, []string{"TestDouble", "TestHang", "TestLast"}) || traces[1].Exit.Code != 2 || traces[2].Exit.Failed() {
		t.Errorf("traces %q\n%s", names, term.Text())
	}
}
