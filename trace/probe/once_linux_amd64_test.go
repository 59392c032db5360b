package probe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"tracerag/trace"
	"tracerag/trace/target"
)

var firsts = built("./testdata/firsts")

// startFirsts starts the program and waits for what it prints. It goes on, and ends,
// when the input is closed.
func startFirsts(t *testing.T, args ...string) (l *Live, says string, input *os.File) {
	t.Helper()
	tgt, err := target.Find(append([]string{path(t, firsts)}, args...), t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := console(t)
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = theirs.in, theirs.out
	l, err = Start(t.Context(), tgt, Options{})
	os.Stdin, os.Stdout = in, out
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	theirs.in.Close()
	theirs.out.Close()
	if says, err = bufio.NewReader(ours.out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return l, says, ours.in
}

// TestMarksGoAway runs blocks for the first time in several threads at once. They
// do what they do alone; the marks are gone where the blocks ran and nowhere else, and
// which lines ran is known all the same.
func TestMarksGoAway(t *testing.T) {
	plain, err := exec.Command(path(t, firsts)).Output()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 40
	if testing.Short() {
		rounds = 4
	}
	for i := range rounds {
		t.Setenv("GOMAXPROCS", []string{"2", "4", ""}[i%3])
		l, says, input := startFirsts(t)
		if says != string(plain) {
			t.Errorf("it says %q, alone %q", says, plain)
		}
		if !l.r.writable {
			t.Skip("this system does not let a program write its own code")
		}
		checkMarks(t, l)
		input.Close()
		tr, err := l.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if lines := linesOf(tr, "main.mix"); tr.Exit.Code != 0 || lines.Count(trace.LineRan) < 50 || lines.Count(trace.LineNotRun) > 0 {
			t.Errorf("it ends with %v, and of mix ran %+v", tr.Exit, lines)
		}
		if t.Failed() {
			break
		}
	}
}

// checkMarks holds the code of a target against its program's file.
func checkMarks(t *testing.T, l *Live) {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", l.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	const size = 5 // of any mark's change, at least
	gone := 0
	for i, mk := range l.p.plan.Marks {
		now := make([]byte, size)
		if _, err := mem.ReadAt(now, int64(mk.At+l.r.text-l.t.Binary.TextStart)); err != nil {
			t.Fatal(err)
		}
		ran := l.r.marks.mem[i] != 0
		own := bytes.Equal(now, l.p.code().Bytes(mk.At, size))
		if own != (ran && mk.Once) {
			t.Errorf("the mark at %#x has run: %v, can be taken away: %v, is gone: %v", mk.At, ran, mk.Once, own)
		}
		if own {
			gone++
		}
	}
	if gone < 50 {
		t.Errorf("of %d marks %d are gone", len(l.p.plan.Marks), gone)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", l.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	code := 0
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "x") && strings.HasSuffix(strings.TrimSpace(line), l.t.Path) && strings.Fields(line)[1][2] == 'x' {
			code++
		}
	}
	if code != 1 {
		t.Errorf("its code is in %d mappings\n%s", code, maps)
	}
}

// TestProfileOfChanged has the program take a CPU profile of itself: its runtime finds
// the mapping of its code, and the functions.
func TestProfileOfChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu")
	l, _, input := startFirsts(t, file)
	input.Close()
	if _, err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, loc := range p.Location {
		for _, line := range loc.Line {
			if strings.HasPrefix(line.Function.Name, "main.") {
				found = true
				if loc.Mapping == nil || loc.Mapping.File != l.t.Path {
					t.Errorf("%s is in the mapping %+v", line.Function.Name, loc.Mapping)
				}
			}
		}
	}
	if !found {
		t.Errorf("nothing of the program is in the profile\n%v", p)
	}
}

// TestMarksStay starts the program where it may not write its own code, or where that
// would cost it something. The marks then stay, and lines are known all the same.
func TestMarksStay(t *testing.T) {
	const variable = "TRACERAG_TEST_SEALED"
	type result struct {
		Writable bool
		Lines    trace.Lines
	}
	// A limit or filter is for good, so it is that of a process of its own.
	if how := os.Getenv(variable); how != "" {
		if err := seal(how); err != nil {
			t.Skip(err)
		}
		tgt, err := target.Find([]string{os.Getenv("TRACERAG_TEST_PROGRAM")}, t.TempDir(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		tgt.Silent = true
		l, err := Start(t.Context(), tgt, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		tr, err := l.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(result{l.r.writable, linesOf(tr, "main.mix")})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(os.Getenv("TRACERAG_TEST_RESULT"), text, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	var first result
	for _, how := range []string{"not at all", "data", "denied", "SIGSYS", "death", "no new code"} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "result")
			cmd := exec.Command(os.Args[0], "-test.run=^TestMarksStay$", "-test.v")
			cmd.Env = append(os.Environ(), variable+"="+how, "TRACERAG_TEST_PROGRAM="+path(t, firsts), "TRACERAG_TEST_RESULT="+file)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Skipf("%s", out)
			}
			var r result
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			if how == "not at all" {
				if first = r; !r.Writable {
					t.Error("without any of that it may not write its code either")
				}
			} else if r.Writable {
				t.Error("it may write its code")
			}
			if r.Lines != first.Lines || r.Lines.Count(trace.LineRan) < 50 {
				t.Errorf("of mix ran %+v, want %+v", r.Lines, first.Lines)
			}
		})
	}
}

// seal forbids this process, and those that it starts, to make memory both writable
// and executable.
func seal(how string) error {
	const protMDWE, mdweRefuse = 65, 1 // PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
	switch how {
	case "data":
		return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40})
	case "denied":
		return forbidWritable(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	case "SIGSYS":
		return forbidWritable(unix.SECCOMP_RET_TRAP)
	case "death":
		return forbidWritable(unix.SECCOMP_RET_KILL_PROCESS)
	case "no new code":
		return unix.Prctl(protMDWE, mdweRefuse, 0, 0, 0)
	}
	return nil
}

// forbidWritable has the kernel do this when a program makes its code writable.
func forbidWritable(action uint32) error {
	const number, prot = 0, 32 // in struct seccomp_data: the call's number, and its third argument
	return filter([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_MPROTECT, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: prot},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: unix.PROT_WRITE | unix.PROT_EXEC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.PROT_WRITE | unix.PROT_EXEC, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: action},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}
