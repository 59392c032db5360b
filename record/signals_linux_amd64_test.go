package record

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// signalsProgram builds testdata/signals in a directory of its own.
func signalsProgram(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if msg, err := exec.Command("go", "build", "-o", filepath.Join(dir, "signals"), "./testdata/signals").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return dir
}

func by(recorder string) testRecording {
	return testRecording{Spec: Spec{Recorder: Options{Name: recorder}}}
}

// A groupJob is a command in a session of its own, without a terminal, as a system that runs jobs
// starts it.
type groupJob struct {
	cmd    *exec.Cmd
	in     io.Closer
	lines  chan string
	stderr bytes.Buffer
}

func startJob(t *testing.T, dir string, input bool, args ...string) *groupJob {
	t.Helper()
	j := &groupJob{cmd: exec.Command(args[0], args[1:]...), lines: make(chan string, 100)}
	j.cmd.Dir, j.cmd.Stderr = dir, &j.stderr
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if input {
		in, err := j.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		j.in = in
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL); _ = j.cmd.Wait() })
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			j.lines <- s.Text()
		}
		close(j.lines)
	}()
	return j
}

// want requires that the program prints a line next; "" that it ends.
func (j *groupJob) want(t *testing.T, line string) {
	t.Helper()
	select {
	case got := <-j.lines:
		if got != line {
			t.Fatalf("printed %q, want %q\n%s", got, line, &j.stderr)
		}
	case <-time.After(time.Minute):
		t.Fatalf("prints nothing, want %q\n%s", line, &j.stderr)
	}
}

// TestSignalsOnce sends signals to the process group of a job, and to its first process
// alone: the recorded program gets each once, as it does alone.
func TestSignalsOnce(t *testing.T) {
	dir := signalsProgram(t)
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGTERM}
	for name, args := range map[string][]string{
		"untraced": {"./signals"},
		Probe:      recording(t, dir, by(Probe), "./signals"),
		Breakpoint: recording(t, dir, by(Breakpoint), "./signals"),
	} {
		t.Run(name, func(t *testing.T) {
			j := startJob(t, dir, true, args...)
			j.want(t, "ready")
			sent := 0
			for round := range 3 {
				for _, s := range signals {
					for _, to := range []int{-j.cmd.Process.Pid, j.cmd.Process.Pid} {
						if to > 0 && round == 1 {
							continue // several in a row to the group
						}
						if to > 0 {
							// Two of a kind that have not been handled are one.
							time.Sleep(200 * time.Millisecond)
						}
						if err := syscall.Kill(to, s); err != nil {
							t.Fatal(err)
						}
						sent++
						j.want(t, s.String())
					}
				}
			}
			time.Sleep(200 * time.Millisecond) // for one too many
			j.in.Close()
			j.want(t, fmt.Sprint("total ", sent))
			j.want(t, "")
			if err := j.cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, &j.stderr)
			}
		})
	}
}

// TestGroupEnds ends a job by its process group: nothing of it lives on.
func TestGroupEnds(t *testing.T) {
	dir := signalsProgram(t)
	for _, recorder := range []string{Probe, Breakpoint} {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(recorder+" "+s.String(), func(t *testing.T) {
				j := startJob(t, dir, true, recording(t, dir, by(recorder), "./signals", "wait")...)
				j.want(t, "ready")
				pid := j.cmd.Process.Pid
				if err := syscall.Kill(-pid, s); err != nil {
					t.Fatal(err)
				}
				j.want(t, "")
				_ = j.cmd.Wait()
				if code := j.cmd.ProcessState.ExitCode(); s == syscall.SIGTERM && code != 128+15 {
					t.Errorf("exit code %d, want that of the signal\n%s", code, &j.stderr)
				}
				for end := time.Now().Add(10 * time.Second); syscall.Kill(-pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("processes of the group live on")
					}
				}
			})
		}
	}
}

// TestManyInterruptsLoseNothing: who presses Ctrl-C again when the program has ended by the
// first has its trace anyway.
func TestManyInterruptsLoseNothing(t *testing.T) {
	dir := signalsProgram(t)
	for name, how := range map[string]testRecording{
		"probe": by(Probe), "breakpoint": by(Breakpoint), "windows": {Windows: true},
		"values":   {Spec: Spec{Values: Values{Patterns: []string{"main.count"}}}},
		"baseline": {Spec: Spec{Baseline: "quick"}},
	} {
		t.Run(name, func(t *testing.T) {
			traces := t.TempDir()
			how.Spec.Store = traces
			j := startJob(t, dir, false, recording(t, dir, how, "./signals", "sleep")...)
			j.want(t, "ready")
			for saved := false; !saved; time.Sleep(time.Millisecond) {
				select {
				case _, open := <-j.lines:
					if files, _ := filepath.Glob(filepath.Join(traces, "*.pb.gz")); !open && len(files) == 0 {
						t.Fatalf("ended without a trace\n%s", &j.stderr)
					}
				default:
				}
				_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGINT)
				files, err := filepath.Glob(filepath.Join(traces, "*.pb.gz"))
				if err != nil {
					t.Fatal(err)
				}
				saved = len(files) > 0
			}
		})
	}
}

// TestGroupIsOurs: the program is in the process group that it is in alone, in all runs that a
// command makes of it.
func TestGroupIsOurs(t *testing.T) {
	source, err := filepath.Abs(filepath.Join("testdata", "signals"))
	if err != nil {
		t.Fatal(err)
	}
	quickly := []string{"./signals", "quick"}
	tests := []string{"go", "test", "-count=1", source}
	for _, tt := range []struct {
		name string
		runs int
		how  Spec
		args []string
	}{
		{"probe", 1, Spec{Recorder: Options{Name: Probe}}, quickly},
		{"breakpoint", 1, Spec{Recorder: Options{Name: Breakpoint}}, quickly},
		{"values and a baseline", 3, Spec{Values: Values{Patterns: []string{OwnFunctions}}, Baseline: "base"}, quickly},
		{"go test", 2, Spec{}, tests},
		{"each test", 2, Spec{Each: 1}, tests},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := signalsProgram(t)
			groups := filepath.Join(dir, "groups")
			if strings.Contains(tt.name, "test") { // they run in the package's directory
				dir, groups = source, filepath.Join(source, "groups")
				tt.how.Store = t.TempDir()
				t.Cleanup(func() { os.Remove(groups) })
			}
			j := startJob(t, dir, false, recording(t, dir, testRecording{Spec: tt.how}, tt.args...)...)
			for range j.lines {
			}
			if err := j.cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, &j.stderr)
			}
			text, err := os.ReadFile(groups)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Repeat(strconv.Itoa(j.cmd.Process.Pid)+"\n", tt.runs)
			if string(text) != want {
				t.Errorf("process groups %q, want %q\n%s", text, want, &j.stderr)
			}
		})
	}
}
