package probe

import (
	"bufio"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

var (
	patches   = built("../breakpoint/testdata/owncode/patches")
	protects  = built("../breakpoint/testdata/owncode/protects")
	checksums = built("../breakpoint/testdata/owncode/checksums")
)

// TestOwnCodeIsRefused leaves programs that change or check their own code to others,
// before they start.
func TestOwnCodeIsRefused(t *testing.T) {
	find := func(program func() (string, error)) *target.Target {
		tgt, err := target.Find([]string{path(t, program)}, t.TempDir(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tgt
	}
	var unsuitable *Unsuitable
	err := Suits(find(patches), Options{})
	if !errors.As(err, &unsuitable) || !strings.Contains(err.Error(), "the program changes its own code (tracerag/trace/breakpoint/testdata/owncode/patches/other.write changes the protection of memory (mprotect))") {
		t.Errorf("a program that writes over its functions: %v", err)
	}
	err = Suits(find(checksums), Options{})
	if err == nil || errors.As(err, &unsuitable) || !strings.Contains(err.Error(), "the program checks its own code (main.") {
		t.Errorf("a program that checks its code: %v", err)
	}
	if err := Suits(find(protects), Options{}); err != nil {
		t.Errorf("a program that makes code in memory of its own: %v", err)
	}
	// It has mprotect's number beside other system calls: that of a signal.
	if own, err := find(ownHazards).OwnCode(); err != nil || own.Protects != "" || own.Changes != "" {
		t.Errorf("a program that does none of this: %+v, %v", own, err)
	}
}

// TestOwnCodeAttach leaves a process of such a program as it is.
func TestOwnCodeAttach(t *testing.T) {
	cmd := exec.Command(path(t, patches), "wait")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	if lines.Scan(); lines.Text() != "waiting" {
		t.Fatalf("printed %q", lines.Text())
	}
	tgt, err := target.Of(cmd.Process.Pid, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var unsuitable *Unsuitable
	if l, err := Attach(t.Context(), tgt, cmd.Process.Pid, Options{}); !errors.As(err, &unsuitable) {
		t.Errorf("attached: %v, %v", l, err)
	}
	in.Close()
	if lines.Scan(); lines.Text() != "2" {
		t.Errorf("printed %q, want that of the function that was put in place of another", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestProtects records programs that change the protection of memory. They do what they
// do alone, even if it is the memory of their text: marks do not write to it, and a function that
// is written over is not called past what was written.
func TestProtects(t *testing.T) {
	for _, how := range []string{"compile", "sealed", "sealing", "patch"} {
		t.Run(how, func(t *testing.T) {
			r := sameRun(t, recordtest.Run{Job: recordtest.Job{Args: []string{path(t, protects), how}}})
			if n := recordtest.Counts(r.Trace)["main.last"]; n != 100 {
				t.Errorf("main.last was recorded %d times, want 100", n)
			}
			lines := r.Trace.Lines
			if len(lines) == 0 {
				t.Error("no lines were recorded")
			}
		})
	}
}
