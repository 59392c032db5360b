package record

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnCode runs programs that change or check their own code. They do what they do alone,
// and the messages say how they are recorded, and why, or what to do.
func TestOwnCode(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./patches", "./protects", "./checksums")
	build.Dir = filepath.Join("..", "trace", "breakpoint", "testdata", "owncode")
	if msg, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	run := func(args ...string) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	for _, args := range [][]string{{"./patches", "direct"}, {"./patches", "two"}, {"./protects", "sealed"}, {"./protects", "patch"}} {
		plain, _, _ := run(args...)
		stdout, stderr, code := run(recording(t, dir, testRecording{}, args...)...)
		if code != 0 || stdout != plain {
			t.Errorf("%q: exit code %d, stdout %q, want 0 and %q\n%s", args, code, stdout, plain, stderr)
		}
		const slow = "falls back: the program changes its own code ("
		if got := strings.Contains(stderr, slow); got != (args[0] == "./patches") {
			t.Errorf("%q: stderr is\n%s", args, stderr)
		}
	}

	_, stderr, code := run(recording(t, dir, by(Probe), "./patches", "direct")...)
	if code != 126 || !strings.Contains(stderr, "the program changes its own code (") {
		t.Errorf("the probe: exit code %d\n%s", code, stderr)
	}
	stdout, stderr, code := run(recording(t, dir, testRecording{Spec: Spec{Values: Values{Patterns: []string{OwnFunctions}}}}, "./patches", "direct")...)
	if code != 0 || stdout == "" || !strings.Contains(stderr, "so values cannot be observed") {
		t.Errorf("values: exit code %d\n%s", code, stderr)
	}
	for _, recorder := range []string{Auto, Probe, Breakpoint} {
		stdout, stderr, code := run(recording(t, dir, by(recorder), "./checksums")...)
		if code != 126 || stdout != "" || !strings.Contains(stderr, "the program checks its own code (main.") || !strings.Contains(stderr, "tracerag import") {
			t.Errorf("%s: exit code %d, stdout %q\n%s", recorder, code, stdout, stderr)
		}
	}
}
