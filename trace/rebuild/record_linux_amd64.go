package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tracerag/trace"
	"tracerag/trace/probe"
	"tracerag/trace/target"
)

// Record runs a program that was built through [Tool], to its end, and returns its trace. The program has
// our standard input, output and error, and our process group.
func Record(ctx context.Context, t *target.Target, o Options) (*trace.Trace, error) {
	if err := t.Ready(); err != nil {
		return nil, err
	}
	unhooked, err := unrecorded(t) // before it runs for nothing
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	l := newLayout(4*runtime.NumCPU(), o.Memory)
	// Of an address space with a limit the program must have nearly all.
	if limit := (unix.Rlimit{}); unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		l = l.within(limit.Cur / 16)
	}
	mem, err := share(l)
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	files, release, err := t.Files()
	if err != nil {
		return nil, err
	}
	defer release()
	cmd := exec.CommandContext(ctx, t.Path)
	cmd.Args, cmd.Dir = t.Args, t.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	// Through this link it opens the memory before any of its own code runs.
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=/proc/%d/fd/%d", variable, os.Getpid(), mem.Fd()))
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	restore := target.HandOver(cmd.Process.Pid)
	defer restore()
	if o.Started != nil {
		o.Started(cmd.Process.Pid)
	}
	tr := t.NewTrace("rebuild")
	tr.Start = time.Now().UTC()
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && cmd.ProcessState == nil {
		return nil, fmt.Errorf("%s: waiting for its end: %w", t.Path, err)
	}
	tr.Duration = time.Since(tr.Start)
	tr.Exit = exitOf(cmd.ProcessState)
	tree, plan, ok, err := l.read(mem, t.Binary)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: nothing was recorded: it ended before package runtime began, or could not map %d MB of memory (ulimit -v)", t.Path, l.size()>>20)
	}
	plan.Unhooked = unhooked
	probe.Convert(t, plan, tree, tr)
	return tr, nil
}

// variable names the file of the memory, for the program, which takes it out of its environment.
const variable = "TRACERAG_REBUILD"

// share makes the memory.
func share(l layout) (*os.File, error) {
	fd, err := unix.MemfdCreate("tracerag", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for the recorder: %w", err)
	}
	mem := os.NewFile(uintptr(fd), "memory of the recorder")
	if err = mem.Truncate(int64(l.size())); err == nil {
		_, err = mem.WriteAt(l.header(), 0)
	}
	if err != nil {
		mem.Close()
		return nil, fmt.Errorf("memory for the recorder: %w", err)
	}
	return mem, nil
}

func exitOf(s *os.ProcessState) trace.Exit {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return trace.Exit{Code: 128 + int(w.Signal()), Signal: unix.SignalName(w.Signal())}
	}
	return trace.Exit{Code: s.ExitCode()}
}
