package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tracerag/trace"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/target"
)

// Child is a program that a target, or a program that it had started, has started.
type Child struct {
	Pid     int
	Program string       // its file
	Trace   *trace.Trace // nil: Err says why there is none
	Err     error
}

// RecordHeld records a program that is held before its first instruction, to its end. How that
// ended is not known: its parent learns it. When ctx is done the program goes on, and what it
// had called until then is the trace. With [ptrace.Process.FollowExecs] these are the programs
// that another one starts.
func RecordHeld(ctx context.Context, proc *ptrace.Process, include, exclude []string, o Options) Child {
	c := Child{Pid: proc.Pid()}
	c.Program, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", c.Pid))
	l, err := startChild(proc, include, exclude, o)
	if e := proc.Detach(); err == nil && e != nil {
		l.Close()
		err = e
	}
	if err != nil {
		c.Err = err
		return c
	}
	defer l.Close()
	if _, err = proc.Wait(ctx); err == nil || ctx.Err() != nil {
		c.Trace, c.Err = l.whole(trace.Exit{Code: -1})
	} else {
		c.Err = err
	}
	if err != nil && c.Trace != nil {
		c.Trace.Losses = append(c.Trace.Losses, trace.Loss{Kind: trace.LossTruncated, Detail: "it ran on when the program that started it had ended"})
	}
	return c
}

// startChild changes a program that is held. If it fails the program is as it was, but for
// memory that it does not use.
func startChild(proc *ptrace.Process, include, exclude []string, o Options) (*Live, error) {
	t, err := target.Of(proc.Pid(), include, exclude)
	if err != nil {
		return nil, err
	}
	p, err := prepare(t, o)
	if err != nil {
		return nil, err
	}
	p.code() // when the process has ended nothing leads to its file any more
	l := &Live{t: t, p: p, tr: t.NewTrace("probe"), restore: func() {}, r: &running{proc: proc}}
	text, err := l.r.matches(p)
	text.free()
	if err != nil {
		return nil, err
	}
	patches, err := l.r.arm(t, p, o)
	if err == nil {
		if err = l.r.write(patches); err != nil {
			err = errors.Join(err, l.r.putBack(patches))
		}
	}
	if err != nil {
		l.r.close()
		return nil, err
	}
	l.tr.Start = time.Now().UTC()
	return l, nil
}
