package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// plain runs a command with limits on its time and output alone.
func (s *Sandbox) plain(ctx context.Context, c Command) (Result, error) {
	if len(c.Args) == 0 {
		return Result{}, errors.New("sandbox: no command")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.Time > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.Time, ended(Time))
		defer stop()
	}
	kept := &kept{left: c.Output, limited: c.Output > 0, full: func() { cancel(ended(Output)) }}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append([]string{}, c.Env...)
	cmd.Stdout, cmd.Stderr = kept.writer(c.Stdout), kept.writer(c.Stderr)
	cmd.WaitDelay = time.Second
	start := time.Now()
	err := cmd.Run()
	res := Result{Wall: time.Since(start)}
	if cmd.ProcessState == nil {
		return res, fmt.Errorf("sandbox: starting %s: %w", c.Args[0], err)
	}
	res.Code = cmd.ProcessState.ExitCode()
	res.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil {
		res.Stopped = Interrupted
		var why ended
		if errors.As(context.Cause(ctx), &why) {
			res.Stopped = Reason(why)
		}
	}
	return res, nil
}

// ended is why a command's context was done.
type ended Reason

func (e ended) Error() string { return "the limit on " + string(e) + " was reached" }

// kept passes on output up to a limit, which standard output and standard error share.
type kept struct {
	mu      sync.Mutex
	limited bool
	left    int64
	full    func()
}

func (k *kept) writer(w io.Writer) io.Writer {
	if w == nil {
		w = io.Discard
	}
	return &keptWriter{k, w}
}

type keptWriter struct {
	*kept
	w io.Writer
}

// Write never fails by the limit: the command must not see a broken pipe before it is killed.
func (k *keptWriter) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q := p
	if k.limited {
		if int64(len(q)) > k.left {
			q = q[:k.left]
			k.full()
		}
		k.left -= int64(len(q))
	}
	if len(q) > 0 {
		if _, err := k.w.Write(q); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
