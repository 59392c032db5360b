//go:build linux && amd64

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
	"tracerag/trace/store"
)

// TestTerminal types at a terminal at which tracerag records a program that shows
// what it sees of it. Package breakpoint compares that with the program alone;
// here it is about tracerag, which must end as the program does, save the trace,
// and leave the terminal as it was.
func TestTerminal(t *testing.T) {
	program := fixtures.Build(t, "stdio")
	type step struct{ await, send string } // send this when that is to be seen
	// The last line that the program writes before it reads.
	const ready = "directory: "
	tests := []struct {
		name  string
		steps []step
		last  string // line of the program
		exit  string
	}{
		{"Ctrl-C", []step{{ready, "\x03"}}, "signal: interrupt\r\n", "exit code 42"},
		{"Ctrl-backslash", []step{{ready, "\x1c"}}, "SIGQUIT: quit\r\n", "exit code 2"},
		{"Ctrl-D", []step{{ready, "hello\n"}, {"hello\r\nhello\r\n", "\x04"}}, "", "exit code 0"},
		{"Ctrl-Z", []step{{ready, "\x1a"}, {"[stopped]", "hello\n"}, {"hello\r\nhello\r\n", "\x04"}}, "", "exit code 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			traces := filepath.Join(t.TempDir(), "traces")
			cmd := exec.Command("jobshell", commandPath(t), "run", "--dir", traces, "--", program)
			term := recordtest.StartAtTerminal(t, cmd)
			// What the program sees.
			term.Await(t, "terminal 0: true\r\nterminal 1: true\r\nterminal 2: true\r\n")
			term.Await(t, "foreground: yes\r\n")
			for _, s := range tt.steps {
				term.Await(t, s.await)
				time.Sleep(50 * time.Millisecond) // the program's own read comes a moment after
				term.Send(t, s.send)
			}
			term.Await(t, tt.last)
			term.Await(t, "tracerag: recorded ")
			term.Await(t, "tracerag: trace: ")
			term.Await(t, "["+tt.exit+", the terminal its own: true, in the same mode: true]")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if n := strings.Count(term.Text(), "signal: "); n > 1 {
				t.Errorf("one key was %d signals:\n%s", n, term.Text())
			}
			if tree := mustRun(t, commandPath(t), "tree", "--dir", traces); !strings.Contains(tree, "main.echo ") {
				t.Errorf("main.echo is not in the trace:\n%s", tree)
			}
		})
	}
}

// TestCtrlCInBaseline: who interrupts the run of the baseline does not want the
// program to be started after it.
func TestCtrlCInBaseline(t *testing.T) {
	traces := filepath.Join(t.TempDir(), "traces")
	cmd := exec.Command("jobshell", commandPath(t), "run", "--dir", traces, "--baseline=-wait", "--", fixtures.Build(t, "stdio"))
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "tracerag: baseline: running ")
	time.Sleep(300 * time.Millisecond) // for it to be there; before that the outcome is the same
	term.Send(t, "\x03")
	term.Await(t, "[exit code 130, the terminal its own: true, in the same mode: true]")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text := term.Text(); strings.Contains(text, "directory: ") || strings.Contains(text, "tracerag: recorded ") {
		t.Errorf("the program was started:\n%s", text)
	}
	if _, err := os.Stat(traces); err == nil {
		t.Error("a trace was saved")
	}
}

func TestExportBinaryToTerminal(t *testing.T) {
	cmd := exec.Command("jobshell", commandPath(t), "export", "--dir", t.TempDir(), "--format", "pprof")
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "tracerag export: pprof is binary, and standard output a terminal: write it to a file with -o run.pb.gz, or pipe it\r\n")
	term.Await(t, "[exit code 2,")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func init() { testCommands["jobshell"] = jobshell }

// jobshell is to a command what a shell at a terminal is: it runs it as a job, with
// a process group that has the terminal, brings it back to the foreground whenever
// it stops, and says in brackets what becomes of it.
func jobshell() {
	mode, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		fmt.Println("[no terminal:", err, "]")
		os.Exit(1)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true}
	if err := cmd.Start(); err != nil {
		fmt.Println("[", err, "]")
		os.Exit(1)
	}
	// Not before the start: the job would inherit it.
	signal.Ignore(syscall.SIGTTOU)
	group := cmd.Process.Pid
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(group, &ws, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			fmt.Println("[wait:", err, "]")
			os.Exit(1)
		}
		if !ws.Stopped() {
			break
		}
		fmt.Printf("[%v]\n", ws.StopSignal())
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group)
		_ = unix.Kill(-group, unix.SIGCONT)
	}
	owner, _ := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	after, err := unix.IoctlGetTermios(0, unix.TCGETS)
	fmt.Printf("[exit code %d, the terminal its own: %v, in the same mode: %v]\n", ws.ExitStatus(), owner == group, err == nil && *after == *mode)
}

// TestCompletionAtTerminal presses Tab in the shells that are installed.
func TestCompletionAtTerminal(t *testing.T) {
	dir := t.TempDir()
	tr, err := makeTrace("csv", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(filepath.Join(dir, store.DirName)).Save(tr); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []struct {
		args []string
		load string
	}{
		{[]string{"bash", "--norc", "--noprofile", "-i"}, `eval "$(tracerag completion bash)"`},
		{[]string{"zsh", "-f", "-i"}, `autoload -U compinit && compinit -D -u && eval "$(tracerag completion zsh)"`},
	} {
		t.Run(shell.args[0], func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell.args[0])
			if err != nil {
				t.Skip(shell.args[0] + " is not installed")
			}
			cmd := exec.Command(path, shell.args[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PS1=ready> ", "TERM=dumb", "HOME="+dir, "INPUTRC=/dev/null")
			term := recordtest.StartAtTerminal(t, cmd)
			term.Await(t, "ready> ")
			term.Send(t, shell.load+"; echo load''ed\n")
			term.Await(t, "loaded")
			// Each Tab adds a blank, too. Ctrl-U takes the line away.
			for _, step := range []struct{ typed, want string }{
				{"tracerag sh\t", "show "},
				{"\x15tracerag tree @l\t", "@last "},
				{"--foc\t", "--focus "},
				{"table.Rea\t", "table.Read "},
				{"--form\t", "--format "},
				{"merm\t", "mermaid "},
				{"\x15tracerag tree --format=merm\t", "--format=mermaid "},
			} {
				term.Send(t, step.typed)
				term.Await(t, step.want)
			}
			term.Send(t, "\x15exit\n")
			_ = cmd.Wait()
		})
	}
}

func init() { testCommands["slow"] = slow }

// slow is a command that takes two seconds, with a message in the middle of it.
func slow() {
	a := &app{stderr: os.Stderr, getenv: os.Getenv}
	done := a.wait("counting sheep")
	time.Sleep(1500 * time.Millisecond)
	a.note("a message")
	time.Sleep(time.Second)
	done()
	done()
	a.wait("no time at all")()
	fmt.Println("the end")
}

// TestWaiting: a line says what takes long, at a terminal, gives way to messages, and
// leaves nothing behind.
func TestWaiting(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("slow")
	cmd.Env = append(os.Environ(), "TERM=xterm")
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "\rtracerag: counting sheep ... 1s\x1b[K\r\x1b[Ktracerag: a message\r\n\rtracerag: counting sheep ... 2s\x1b[K\r\x1b[Kthe end\r\n")
	if err := cmd.Wait(); err != nil || strings.Contains(term.Text(), "no time") {
		t.Errorf("%v in %q", err, term.Text())
	}
	cmd = exec.Command("slow")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "tracerag: a message\nthe end\n" {
		t.Errorf("without a terminal: %v, %q", err, out)
	}
}

// TestPager: at a terminal, and nowhere else, long output goes through a pager, and
// messages come after it.
func TestPager(t *testing.T) {
	dir := t.TempDir()
	var id string
	for range 3 { // the same run: the last one is meant
		tr, err := makeTrace("csv", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := store.Open(filepath.Join(dir, store.DirName)).Save(tr)
		if err != nil {
			t.Fatal(err)
		}
		id = e.ID
	}
	tests := []struct {
		name, pager, args string
		want, never       string
		code              int
	}{
		{name: "through it", pager: "sed s/^/paged:/", args: "tree", want: "paged:main.main \x1b["},
		{name: "plain", pager: "sed s/^/paged:/", args: "tree --no-pager", want: "main.main", never: "paged:"},
		{name: "none", pager: "", args: "tree", want: "main.main", never: "paged:"},
		{name: "cat", pager: "cat", args: "list", want: "ID "},
		{name: "left early", pager: "head -1", args: "tree --quiet", want: "main.main", never: "main.parseFlags"},
		{name: "compare keeps its code", pager: "head -1 | sed s/^/paged:/", args: "compare @last " + id, want: "paged:a: "},
		{name: "not there", pager: "/nowhere/pager", args: "tree", want: "main.main", never: "nowhere"},
		{name: "help", pager: "sed s/^/paged:/", args: "help", want: "paged:Commands:"},
		{name: "help of a command", pager: "sed s/^/paged:/", args: "rm --help", want: "paged:Usage: tracerag rm"},
		{name: "a topic", pager: "sed s/^/paged:/", args: "help traces", want: "paged:Traces: "},
		{name: "not of what is not read", pager: "sed s/^/paged:/", args: "version", want: "tracerag ", never: "paged:"},
		{name: "messages behind", pager: "sleep 0.3; sed s/^/paged:/", args: "compare @last " + id + " --include ./...", want: "--include is for --gate", never: "paged:", code: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("jobshell", append([]string{commandPath(t)}, strings.Fields(tt.args)...)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "TRACERAG_PAGER="+tt.pager, "TRACERAG_DIR=")
			term := recordtest.StartAtTerminal(t, cmd)
			term.Await(t, tt.want)
			term.Await(t, fmt.Sprintf("[exit code %d, the terminal its own: true", tt.code))
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if tt.never != "" && strings.Contains(term.Text(), tt.never) {
				t.Errorf("%q is in\n%s", tt.never, term.Text())
			}
		})
	}
	// Piped, nothing of this happens.
	cmd := exec.Command(commandPath(t), "tree")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TRACERAG_PAGER=sed s/^/paged:/", "TRACERAG_DIR=")
	out, err := cmd.Output()
	if err != nil || !bytes.HasPrefix(out, []byte("main.main ")) {
		t.Errorf("piped: %v, %q", err, out)
	}
}

// TestMessagesWaitForThePager: what is said after the text is after the text.
func TestMessagesWaitForThePager(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.Open(filepath.Join(dir, store.DirName))
	for _, name := range []string{"csv", "md"} {
		tr, err := makeTrace(name, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		tr.Program.BuildID = name
		if _, err := s.Save(tr); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("jobshell", commandPath(t), "compare", "@prev", "@last")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "TRACERAG_PAGER=sleep 0.5; sed s/^/paged:/", "TRACERAG_DIR=")
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "paged:+   markdown.plain internal/markdown/markdown.go:12\r\ntracerag: the runs are of different builds\r\n[exit code 1, ")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(term.Text(), "\x1b") {
		t.Errorf("NO_COLOR, and yet colours: %q", term.Text())
	}
}
