package probe

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/payload"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// TestLines holds the lines that ran against the compiler's coverage counters, in
// runs that do the same: no line that did not run may have run by the trace, nor the
// other way round. Statements that coverage counts although they were not reached
// are marked so in the program.
func TestLines(t *testing.T) {
	const name = "lines"
	file := filepath.Join(fixtures.Dir(name), "main.go")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(string(src), "\n")
	counted := fixtures.Build(t, name, "-cover", "-covermode=count")
	for _, how := range []string{"", "panic", "nil"} {
		args := strings.Fields(how)
		want := covered(t, file, counted, args)
		for _, build := range []struct {
			flags   []string
			unknown float64 // at most this share of the lines
		}{
			{nil, 0.07},
			{[]string{"-gcflags=-l"}, 0.07},
			{[]string{"-buildmode=pie", "-ldflags=-s -w"}, 0.07},
			// All variables are in memory there, on the stack, where what is
			// done with them looks like the moves that the compiler adds.
			{[]string{"-gcflags=-N -l"}, 0.2},
		} {
			t.Run(strings.Join(append(args, build.flags...), " "), func(t *testing.T) {
				r := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: append([]string{fixtures.Build(t, name, build.flags...)}, args...)}})
				tally := map[string]int{}
				for _, fn := range []string{"main.run", "main.settle"} {
					lines := linesOf(r.Trace, fn)
					if lines.States == "" {
						t.Fatalf("%s: its lines were not watched", fn)
					}
					for line, ran := range want[fn] {
						got := lines.At(line)
						tally[fmt.Sprintf("%c %v", got, ran)]++
						wrong := got == trace.LineRan && !ran
						if got == trace.LineNotRun && ran {
							wrong = !strings.Contains(text[line-1], "// unreached")
						}
						if wrong {
							t.Errorf("%s: line %d is %c, but ran is %v by its counter: %s", fn, line, got, ran, strings.TrimSpace(text[line-1]))
						}
					}
				}
				for fn, l := range r.Trace.Lines {
					if name := r.Trace.Functions[fn].Name; want[name] == nil {
						t.Errorf("lines of %s: %+v", name, l)
					}
				}
				all := 0
				for _, n := range tally {
					all += n
				}
				unknown := tally["? true"] + tally["? false"]
				t.Logf("%d lines with statements, %d not known: %v", all, unknown, tally)
				if float64(unknown) > build.unknown*float64(all) || tally["r true"] < all/5 || tally["n false"] < all/5 {
					t.Errorf("of %d lines too many are not known: %v", all, tally)
				}
			})
		}
	}
}

// TestLinesOfWindows has the interpreter run programs while it is recorded. In a
// window a line that had run before it is not known, and one that ran or did not is
// as elsewhere. From a process that was attached to the marks are taken away again.
func TestLinesOfWindows(t *testing.T) {
	const name = "lines"
	src, err := os.ReadFile(filepath.Join(fixtures.Dir(name), "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	// line finds the first statement of a case.
	line := func(word string) int {
		i := slices.IndexFunc(strings.Split(string(src), "\n"), func(l string) bool { return strings.HasPrefix(l, "\t\tcase \""+word+"\"") })
		if i < 0 {
			t.Fatalf("no case %q", word)
		}
		return i + 2
	}
	hold := func(what string, tr *trace.Trace, want map[string]trace.LineState) {
		t.Helper()
		if err := tr.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		lines := linesOf(tr, "main.run")
		for word, w := range want {
			if got := lines.At(line(word)); got != w {
				t.Errorf("%s: the line of %q is %c, want %c: %+v", what, word, got, w, lines)
			}
		}
	}
	ours, theirs := console(t)
	program := fixtures.Build(t, name)

	tgt, err := target.Find([]string{program, "read"}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = theirs.in, theirs.out
	l, err := Start(t.Context(), tgt, Options{})
	os.Stdin, os.Stdout = in, out
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours.ask(t, "push 1 dec", "0 <nil>")
	first := snapshot(t, l)
	ours.ask(t, "push 1 inc dec", "1 <nil>")
	second := snapshot(t, l)
	ours.ask(t, "push 1 push 2 sub", "-1 <nil>")
	hold("before", l.Window(nil, first), map[string]trace.LineState{"dec": 'r', "inc": 'n', "sub": 'n', "mul": 'n'})
	hold("window", l.Window(first, second), map[string]trace.LineState{"dec": '?', "inc": 'r', "sub": 'n', "mul": 'n'})
	ours.in.Close()
	whole, err := l.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hold("whole run", whole, map[string]trace.LineState{"dec": 'r', "inc": 'r', "sub": 'r', "mul": 'n'})

	ours, theirs = console(t)
	cmd := exec.Command(program, "read")
	cmd.Stdin, cmd.Stdout = theirs.in, theirs.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ours.ask(t, "push 1 dec", "0 <nil>")
	before := text(t, cmd.Process.Pid)
	if tgt, err = target.Of(cmd.Process.Pid, nil, nil); err != nil {
		t.Fatal(err)
	}
	a, err := Attach(t.Context(), tgt, cmd.Process.Pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ours.ask(t, "push 1 inc", "2 <nil>")
	tr, err := a.Detach()
	if err != nil {
		t.Fatal(err)
	}
	hold("attached", tr, map[string]trace.LineState{"inc": 'r'})
	// Less is known there, since a call may have been under way.
	lines := linesOf(tr, "main.run")
	for _, word := range []string{"dec", "sub", "mul", "mod", "jmp"} {
		if lines.At(line(word)) == trace.LineRan {
			t.Errorf("attached: the line of %q ran: %+v", word, lines)
		}
	}
	if lines.Count(trace.LineNotRun) < 10 {
		t.Errorf("attached: too little is known: %+v", lines)
	}
	ours.ask(t, "push 1 dec", "0 <nil>")
	if text(t, cmd.Process.Pid) != before {
		t.Error("the code is not what it was before")
	}
}

// ends are the ends of two pipes on one side.
type ends struct{ in, out *os.File }

// console makes two pipes: the program's standard input and output, and what is at
// their other ends.
func console(t *testing.T) (ours, theirs ends) {
	t.Helper()
	var err error
	if theirs.in, ours.in, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if ours.out, theirs.out, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{theirs.in, ours.in, ours.out, theirs.out} {
			f.Close()
		}
	})
	return ours, theirs
}

// ask has the program run a line.
func (e ends) ask(t *testing.T, program, want string) {
	t.Helper()
	if _, err := fmt.Fprintln(e.in, program); err != nil {
		t.Fatal(err)
	}
	got, err := bufio.NewReader(e.out).ReadString('\n')
	if err != nil || strings.TrimSpace(got) != want {
		t.Fatalf("%q gives %q (%v), want %q", program, got, err, want)
	}
}

func linesOf(tr *trace.Trace, name string) trace.Lines {
	i := slices.IndexFunc(tr.Functions, func(f trace.Function) bool { return f.Name == name })
	return tr.Lines[trace.FuncID(i)]
}

// covered runs a program with coverage counters. It returns for the lines on which
// the statements of its functions begin, by function, whether any of them ran.
func covered(t *testing.T, file, program string, args []string) map[string]map[int]bool {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	profile := filepath.Join(dir, "text")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", dir, "-o", profile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	blocks, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	return statements(t, file, string(blocks))
}

// TestNoRoomForMarks has more marks than fit near a program's code. There is room for
// the code all the same, and the trace says that no lines are known.
func TestNoRoomForMarks(t *testing.T) {
	tgt, err := target.Find([]string{fixtures.Build(t, "lines")}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	const code = 1 << 16
	for _, marks := range []int{0, 5000, 1 << 31} {
		l := &Live{t: tgt, tr: tgt.NewTrace("probe"), r: &running{text: tgt.Binary.TextStart}, p: &prepared{plan: &plan.Plan{}}}
		l.r.proc, err = ptrace.Start(tgt.Path, tgt.Args, ptrace.Attr{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.r.close()
		defer l.r.proc.Abandon()
		base, err := l.r.reserve(code, marks)
		if err != nil {
			t.Fatalf("%d marks: %v", marks, err)
		}
		if err := l.r.proc.MapCode(base, code); err != nil {
			t.Errorf("%d marks: %v", marks, err)
		}
		want := 0
		if marks == 5000 {
			want = 8192
		}
		if len(l.r.marks.mem) != want {
			t.Errorf("%d marks have %d bytes, want %d", marks, len(l.r.marks.mem), want)
		}
		tr := *l.tr
		l.convert(&payload.Tree{}, nil, &tr)
		told := slices.ContainsFunc(tr.Losses, func(l trace.Loss) bool { return l.Kind == trace.LossOther && strings.Contains(l.Detail, "lines") })
		if told != (marks > 5000) {
			t.Errorf("%d marks: the losses are %v", marks, tr.Losses)
		}
	}
}
