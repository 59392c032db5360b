package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tracerag/trace/probe/ptrace"
)

// TestChildren records the programs that the go command starts in a build, which ends as it
// does by itself.
func TestChildren(t *testing.T) {
	dir, plans := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": "package main\n\nfunc main() { println(1) }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	proc, err := ptrace.Start(gocmd, []string{"go", "build", "-o", "m", "-toolexec=env"}, ptrace.Attr{Dir: dir, Files: [3]*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Abandon()
	var mu sync.Mutex
	calls := map[string]int64{}
	others := 0
	x, err := proc.FollowExecs(func(p *ptrace.Process) {
		c := RecordHeld(t.Context(), p, []string{"..."}, nil, Options{NoLines: true, NoInlined: true, CacheDir: plans})
		mu.Lock()
		defer mu.Unlock()
		switch name := filepath.Base(c.Program); name {
		case "asm", "compile", "link", "go", "cgo", "buildid":
			if c.Err != nil {
				t.Errorf("%s: %v", name, c.Err)
				return
			}
			calls[name] += c.Trace.Calls()
		default: // env, in front of each of them, is no Go program
			if c.Err == nil {
				t.Errorf("%s is recorded", name)
			}
			others++
		}
	})
	if err != nil {
		t.Skipf("not allowed here: %v", err)
	}
	if err := proc.Detach(); err != nil {
		t.Fatal(err)
	}
	if exit, err := proc.Wait(t.Context()); err != nil || exit.Code != 0 {
		t.Errorf("it ends with %v, %v", exit, err)
	}
	if err := x.Wait(); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command(filepath.Join(dir, "m")).CombinedOutput(); err != nil || string(out) != "1\n" {
		t.Errorf("what it built writes %q, %v", out, err)
	}
	if others == 0 {
		t.Error("env was not seen")
	}
	for _, name := range []string{"compile", "link"} {
		if calls[name] == 0 {
			t.Errorf("no call of %s is recorded", name)
		}
	}
}
