package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// Most commands only look at traces: tests call them here, in this process, which has the
// rules for secrets and the vocabularies of tokens already. A process of its own is for
// those that start this program again, that are ended by a signal, or that serve.
var needProcess = []string{"run", "attach", "window", "eval", "mcp", "view", "doctor"}

func needsProcess(args []string) bool {
	return len(args) > 0 && slices.Contains(needProcess, args[0]) || slices.Contains(args, "--gate")
}

// inDirectory makes this process one that was started in a directory, with nothing but
// this environment, until the test ends.
func inDirectory(t *testing.T, dir string, env []string) {
	t.Helper()
	t.Chdir(dir)
	before, limit := os.Environ(), debug.SetMemoryLimit(-1)
	set := func(env []string) {
		os.Clearenv()
		for _, e := range env {
			name, value, _ := strings.Cut(e, "=")
			os.Setenv(name, value)
		}
	}
	t.Cleanup(func() {
		set(before)
		debug.SetMemoryLimit(limit)
	})
	set(env)
}

// ranHere is what became of a command.
type ranHere struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

// here runs a command in this process.
func here(ctx context.Context, stdin io.Reader, args ...string) ranHere {
	var stdout, stderr bytes.Buffer
	start := time.Now()
	code := run(ctx, args, stdin, &stdout, &stderr)
	return ranHere{stdout.String(), stderr.String(), code, time.Since(start)}
}

// runAsUser runs a command: here, or as a process of its own if it needs one.
func runAsUser(t *testing.T, args ...string) ranHere {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if !needsProcess(args) {
		done := here(ctx, strings.NewReader(""), args...)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return done
	}
	cmd := exec.CommandContext(ctx, commandPath(t), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return ranHere{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), 0}
}

// ownProcess has a test that measures this process's memory, or lives in another directory,
// run in a process of its own, beside the others. It reports whether this is that one.
func ownProcess(t *testing.T) bool {
	t.Helper()
	const name = "TRACERAG_TEST_ALONE"
	if os.Getenv(name) == t.Name() {
		return true
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=0")
	if *update {
		cmd.Args = append(cmd.Args, "-update")
	}
	cmd.Env = append(os.Environ(), name+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) && !strings.Contains(string(out), "--- SKIP: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}
