package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// plain runs a command with limits on its time and output alone: without an inner step, or
// where no system's means are known.
func (s *Sandbox) plain(ctx context.Context, c Command) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.Time > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.Time, ended(Time))
		defer stop()
	}
	kept := newKept(c, func() { cancel(ended(Output)) })
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append([]string{}, c.Env...)
	cmd.Stdout, cmd.Stderr = kept.writer(c.Stdout), kept.writer(c.Stderr)
	cmd.WaitDelay = time.Second
	group(cmd)
	start := time.Now()
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	res := Result{Wall: time.Since(start)}
	if cmd.Process != nil {
		endGroup(cmd)
	}
	if cmd.ProcessState == nil {
		return res, fmt.Errorf("sandbox: starting %s: %w", c.Args[0], err)
	}
	res.Code = cmd.ProcessState.ExitCode()
	res.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil {
		res.Stopped = reason(ctx)
	}
	res.Refused = kept.refused()
	res.Unlayered = unlayered(c.Layers, "without a sandbox no directory is laid over another")
	return res, nil
}

// reason is why a command's context was done.
func reason(ctx context.Context) Reason {
	if why, ok := errors.AsType[ended](context.Cause(ctx)); ok {
		return Reason(why)
	}
	return Interrupted
}
