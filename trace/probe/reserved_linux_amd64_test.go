package probe

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"tracerag/trace/recordtest"
)

var reserves = built("./testdata/reserves")

// TestAttachReserved records a process that has reserved much memory, as stacks of threads
// and files that are mapped are, and lets it go when it has reserved more than anybody could
// look through: the trace is there, and the code is as it was.
func TestAttachReserved(t *testing.T) {
	cmd := exec.Command(path(t, reserves))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer kill9(cmd)
	lines := bufio.NewScanner(out)
	reserve := func(gib int) {
		t.Helper()
		fmt.Fprintln(in, gib)
		switch lines.Scan(); lines.Text() {
		case fmt.Sprint(gib, " <nil>"):
		case "":
			t.Fatal("the program has ended")
		default:
			t.Skip("it may not reserve so much: " + lines.Text())
		}
	}
	lines.Scan()
	reserve(20)
	pid := cmd.Process.Pid
	before := text(t, pid)
	l, err := attachTo(t, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reserve(300)
	tr, err := l.Detach()
	if err != nil {
		t.Fatal(err)
	}
	if n := recordtest.Counts(tr)["main.step"]; n != 100 {
		t.Errorf("main.step was recorded %d times, want 100", n)
	}
	if text(t, pid) != before {
		t.Error("the code is not what it was before")
	}
	had := ownMappings(t, pid)
	if _, err := attachTo(t, pid); !errors.Is(err, errTooMuch) {
		t.Errorf("attaching: %v, want errTooMuch", err)
	}
	if n := ownMappings(t, pid); n != had {
		t.Errorf("%d mappings of ours are there, %d were", n, had)
	}
	reserve(1)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
