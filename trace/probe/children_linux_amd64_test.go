package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// keeperVariable makes this test binary a keeper.
const keeperVariable = "TRACERAG_TEST_KEEPER"

// recordedGroup is a recorded run with what it started.
type recordedGroup struct {
	root   *trace.Trace
	traces map[string]*trace.Trace
	output string
}

// recordGroup records a program and what it starts.
func recordGroup(t *testing.T, dir string, include []string, o Options, args ...string) recordedGroup {
	t.Helper()
	tgt, err := target.Find(args, dir, include, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	tgt.NoInput, tgt.Output = true, out
	g := recordedGroup{traces: map[string]*trace.Trace{}}
	var mu sync.Mutex
	o.Children = &Children{
		Save: func(tr *trace.Trace) (string, error) {
			if err := tr.Check(); err != nil {
				t.Errorf("%q: %v", tr.Command, err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum := sha256.Sum256(fmt.Append(nil, len(g.traces)))
			id := hex.EncodeToString(sum[:4])
			g.traces[id] = tr
			return id, nil
		},
		Keeper:     []string{"/usr/bin/env", keeperVariable + "=1", "/proc/" + fmt.Sprint(os.Getpid()) + "/exe"},
		Unfollowed: func(why error) { t.Skipf("not allowed here: %v", why) },
	}
	if g.root, err = Record(t.Context(), tgt, o); err != nil {
		t.Fatal(err)
	}
	if err := g.root.Check(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	g.output = string(text)
	return g
}

// path is the way to the node that started a process, in its parent's trace, and what was
// called first behind it.
func (g recordedGroup) path(i int) (path, next string) {
	p := &g.root.Processes[i]
	tr := g.root
	if by := g.root.Recorded(p.Parent - 1); by >= 0 {
		tr = g.traces[g.root.Processes[by].Trace]
	}
	var names []string
	for id := p.Caller.Node(); id != trace.NoNode; {
		n := &tr.Nodes[id]
		names = append(names, strings.TrimPrefix(tr.Func(id).Name, "main."))
		if id = n.Parent; id == trace.NoNode {
			id = n.Go.Creator.Node()
		}
	}
	slices.Reverse(names)
	if p.Before < len(tr.Nodes) {
		next = strings.TrimPrefix(tr.Func(trace.NodeID(p.Before)).Name, "main.")
	}
	return strings.Join(names, " "), next
}

// TestReusedNumber tells a process from an earlier one that had its number.
func TestReusedNumber(t *testing.T) {
	g := &group{pids: map[int]*process{}}
	parent := func() *process { return g.notice(os.Getpid()).(noticed).parent }
	us := g.add(os.Getpid(), noticed{parent: &g.root}, trace.Process{})
	if parent() != us {
		t.Error("what a process starts is not known to be its")
	}
	us.begun = 1 // long ago
	if parent() != &g.root {
		t.Error("what a process starts is said to be of one that has ended")
	}
}

// TestChildren records what a program starts in many ways, and knows the call in which
// each was started.
func TestChildren(t *testing.T) {
	prog := fixtures.Build(t, "starts")
	cmd := exec.Command(prog, "all")
	alone, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, alone)
	}
	g := recordGroup(t, t.TempDir(), nil, Options{CacheDir: t.TempDir()}, prog, "all")
	if g.root.Exit.Code != 0 || g.output != string(alone) {
		t.Errorf("it ends with %v and writes\n%s\nalone\n%s", g.root.Exit, g.output, alone)
	}
	var got []string
	for i := range g.root.Processes {
		p := &g.root.Processes[i]
		caller, next := g.path(i)
		what := p.Why
		if p.Trace != "" {
			tr := g.traces[p.Trace]
			if fmt.Sprint(tr.Command) != fmt.Sprint(p.Command) || tr.Calls() != p.Calls {
				t.Errorf("process %d, %q, has a trace of %q with %d calls, not %d", i, p.Command, tr.Command, tr.Calls(), p.Calls)
			}
			what = fmt.Sprintf("main called %d times", recordtest.Counts(tr)["main.main"])
		}
		args := strings.Join(p.Command[1:], " ")
		if filepath.Base(p.Program) == "sh" || strings.HasSuffix(p.Program, "sh") {
			args = "sh"
		}
		by := "the program"
		if p.Parent > 0 {
			by = g.root.Processes[p.Parent-1].Command[len(g.root.Processes[p.Parent-1].Command)-1]
			if len(g.root.Processes[p.Parent-1].Command) > 3 {
				by = "sh"
			}
		}
		got = append(got, fmt.Sprintf("%s | by %s | in %s | before %s | %s", args, by, caller, next, what))
	}
	const once = "main called 1 times"
	want := []string{
		"leaf a | by the program | in main first direct run | before after | " + once,
		"sh | by the program | in main first shell | before missing | no Go program",
		"leaf b | by sh | in main first shell | before missing | " + once,
		"leaf c | by sh | in main first shell | before missing | " + once,
		"middle | by the program | in main second second.func1 deep run | before run | " + once,
		"leaf d | by middle | in main middle run | before leaf | " + once,
		"fail | by the program | in main second second.func1 run | before many | " + once,
		"fail | by the program | in many.func1 | before become | " + once + " (8)",
		"leaf e | by the program | in main become | before  | " + once,
	}
	// Of the eight at once.
	for i := 0; i < len(got); i++ {
		n := 1
		for i+n < len(got) && got[i+n] == got[i] {
			n++
		}
		if n > 1 {
			got = slices.Delete(got, i+1, i+n)
			got[i] += fmt.Sprintf(" (%d)", n)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestChildrenOfGo records the programs that the go command starts in a build, which ends as it
// does by itself.
func TestChildrenOfGo(t *testing.T) {
	dir, plans := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": "package main\n\nfunc main() { println(1) }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := recordGroup(t, dir, []string{"..."}, Options{NoLines: true, NoInlined: true, CacheDir: plans}, "go", "build", "-o", "m", "-toolexec=env")
	if g.root.Exit.Code != 0 {
		t.Errorf("it ends with %v\n%s", g.root.Exit, g.output)
	}
	if out, err := exec.Command(filepath.Join(dir, "m")).CombinedOutput(); err != nil || string(out) != "1\n" {
		t.Errorf("what it built writes %q, %v", out, err)
	}
	calls, others := map[string]int64{}, 0
	for i := range g.root.Processes {
		p := &g.root.Processes[i]
		switch name := filepath.Base(p.Program); name {
		case "asm", "compile", "link", "go", "cgo", "buildid":
			if p.Trace == "" {
				t.Errorf("%s: %s", name, p.Why)
			}
			calls[name] += p.Calls
		default: // env, in front of each of them, is no Go program
			if p.Trace != "" {
				t.Errorf("%s is recorded", name)
			}
			others++
		}
		if caller, _ := g.path(i); p.Parent == 0 && !strings.HasSuffix(caller, " os/exec.(*Cmd).Start os.StartProcess os.startProcess") {
			t.Errorf("%q is started in %s", p.Command, caller)
		}
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
