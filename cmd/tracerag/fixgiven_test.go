package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endless is a file without end, as /dev/zero is.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > 4*mostGiven {
		return 0, errors.New("all of it was read")
	}
	return len(p), nil
}

// TestFixGiven: a report and a change that have no end are refused, and do not fill the memory.
func TestFixGiven(t *testing.T) {
	for _, c := range []struct {
		stdin io.Reader
		args  []string
		want  string
	}{
		{new(endless), []string{"fix", "-"}, "reading the report: it is larger than 32 MiB"},
		{new(endless), []string{"fix", "--candidate=-"}, "reading the change: it is larger than 32 MiB"},
		{strings.NewReader(""), []string{"fix", "--candidate=/dev/zero"}, "reading the change: it is larger than 32 MiB"},
		{strings.NewReader(""), []string{"fix", "--candidate=" + filepath.Join(t.TempDir(), "none")}, "reading the change: open "},
	} {
		if os.PathSeparator != '/' && strings.Contains(c.args[1], "/dev/zero") {
			continue
		}
		if done := here(t.Context(), c.stdin, c.args...); done.code != exitFailure || !strings.Contains(done.stderr, c.want) {
			t.Errorf("%q: exit code %d: %s", c.args, done.code, done.stderr)
		}
	}
}

// TestFixWithoutModelNotes: places that the question lacks are named without a model, too.
func TestFixWithoutModelNotes(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	r.env = append(r.env, "TRACERAG_MODEL=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	_, said := r.run(0, "--test", "./table:TestBorder", "the border is cut after login: func login prints")
	if want := "login in table/secret.go can't be shown: it holds a secret"; !strings.Contains(said, want) {
		t.Errorf("the messages lack %q: %s", want, said)
	}
}

// TestFixSignals: SIGHUP and SIGTERM end fix as Ctrl-C does: what was done is kept, and nothing else is left.
func TestFixSignals(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	r.change = func(string) string { return edit("return line(n)") }
	k := newKills(t, r)
	copies := filepath.Join(k.cache, "tracerag", "trials", "trial-*")
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if signal.Ignored(sig) {
			t.Logf("%v: not tried: it is ignored here, as under nohup, and a program that is started inherits that", sig)
			continue
		}
		k.forget()
		c := k.begin()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if made, _ := filepath.Glob(copies); len(made) > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("no copy was made")
			}
		}
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(k.said.String(), "interrupted: what was done is kept") {
			t.Errorf("%v: %v: %s", sig, c.ProcessState, k.said.String())
		}
		if left := k.left(); len(left) > 0 {
			t.Errorf("%v: left are\n%s", sig, strings.Join(left, "\n"))
		}
	}
}

// TestNohup: a SIGHUP that was ignored when the program began stays ignored.
func TestNohup(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("no SIGHUP")
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	ctx, stop := interruptible(t.Context())
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
		t.Error("interrupted")
	case <-time.After(100 * time.Millisecond):
	}
}
