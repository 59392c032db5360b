package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/target"
)

// group records the programs that a target starts, and those that these start: each as it is
// recorded itself, from before its first instruction. See [ptrace.Execs] for how they are
// noticed.
type group struct {
	t      *target.Target
	o      Options
	execs  *ptrace.Execs
	ctx    context.Context // ends with the target
	cancel func()
	setUp  chan struct{} // one for each that is being changed: it takes a processor

	mu   sync.Mutex
	root process
	all  []*process       // in the order of their starts
	pids map[int]*process // what runs there, or ran last: see at
}

// process is one of them.
type process struct {
	trace.Process
	number int        // from 1; 0: the target
	parent *process   // nil of the target
	live   *Live      // nil: it is not recorded
	from   *startCall // nil: not known
	nodes  int        // of its trace
	begun  uint64     // when its process was made, by the kernel's clock
}

// noticed is what is known of a program that is about to be started.
type noticed struct {
	parent *process
	from   *startCall
}

// follow begins to record the programs that a target starts that is held.
func (l *Live) follow(o Options) error {
	g := &group{t: l.t, o: o, setUp: make(chan struct{}, runtime.NumCPU()), pids: map[int]*process{}}
	g.o.Started, g.o.Children = nil, nil
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.root.live = l
	g.root.begun = begun(l.Pid())
	g.pids[l.Pid()] = &g.root
	var err error
	g.execs, err = l.r.proc.FollowExecs(ptrace.Follow{
		Notice:  g.notice,
		Started: func(p *ptrace.Process, n any) { g.record(p, n.(noticed), o.Children) },
		Missed:  g.missed,
		Keeper:  o.Children.Keeper,
	})
	if err != nil {
		g.cancel()
		return err
	}
	l.group = g
	return nil
}

// settle ends the recording of those that still run, when the target has ended.
func (g *group) settle() {
	g.cancel()
	_ = g.execs.Stop()
}

// processes lists them, when the target has a trace, too.
func (g *group) processes(target *trace.Trace) []trace.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.root.nodes = len(target.Nodes)
	var out []trace.Process
	for _, p := range g.all {
		p.Parent = p.parent.number
		by := p.startedBy()
		if from := by.from; from != nil && from.before > 0 {
			p.Caller, p.Before = from.caller, from.before
		} else {
			p.Before = by.parent.nodes
		}
		out = append(out, p.Process)
	}
	return out
}

// startedBy is the process itself or the one above it that was started by one with a trace.
func (p *process) startedBy() *process {
	for p.parent.number > 0 && p.parent.Trace == "" {
		p = p.parent
	}
	return p
}

// notice finds which call it is by which a thread is about to start a program.
func (g *group) notice(tid int) any {
	pid, above := family(tid)
	g.mu.Lock()
	parent := g.at(pid)
	for parent == nil && above > 1 {
		// A process that a program of ours forked, or one of its threads.
		if parent = g.at(above); parent == nil {
			_, above = family(above)
		}
	}
	if parent == nil {
		parent = &g.root // what started it has ended
	} else if live := parent.live; live != nil {
		g.mu.Unlock()
		return noticed{parent, live.startedBy(tid)}
	}
	g.mu.Unlock()
	return noticed{parent: parent}
}

// at returns what runs as a process; nil if it is none of those that were started, but has the
// number of one that has ended.
func (g *group) at(pid int) *process {
	if p := g.pids[pid]; p != nil && p.begun != 0 && p.begun == begun(pid) {
		return p
	}
	return nil
}

// begun is when a process was made, 0 if that is not known. An execve does not change it.
func begun(pid int) uint64 {
	ticks, _, _ := processStart(strconv.Itoa(pid))
	return ticks
}

// family returns the process of a thread, and that above it.
func family(tid int) (pid, parent int) {
	status, err := ptrace.Status(tid)
	if err != nil {
		return 0, 0
	}
	pid, _ = strconv.Atoi(status["Tgid"])
	parent, _ = strconv.Atoi(status["PPid"])
	return pid, parent
}

// add notes a process.
func (g *group) add(pid int, n noticed, p trace.Process) *process {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := &process{Process: p, number: len(g.all) + 1, parent: n.parent, from: n.from, begun: begun(pid)}
	g.all = append(g.all, one)
	g.pids[pid] = one
	return one
}

// missed notes a program that could not be held.
func (g *group) missed(tid int, file string, known any, err error) {
	pid, _ := family(tid)
	g.add(pid, known.(noticed), trace.Process{Program: file, Command: []string{file}, Why: whyMissed(err)})
}

// whyMissed says why a program could not be held.
func whyMissed(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return "another program traces it, or it may not be traced"
	}
	return "it cannot be held: " + err.Error()
}

// record records a program that is held, to its end or that of the target.
func (g *group) record(proc *ptrace.Process, n noticed, c *Children) {
	one := g.add(proc.Pid(), n, commandOf(proc.Pid()))
	id := ""
	tr, err := g.run(proc, one)
	if err == nil {
		id, err = c.Save(tr)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		one.Why = err.Error()
		return
	}
	one.Trace, one.nodes, one.Calls = id, len(tr.Nodes), tr.Calls()
}

func (g *group) run(proc *ptrace.Process, one *process) (*trace.Trace, error) {
	g.setUp <- struct{}{}
	l, err := startChild(proc, g.t, g.o)
	if err == nil {
		g.mu.Lock()
		one.live = l // what it starts is its
		g.mu.Unlock()
	}
	e := proc.Detach()
	<-g.setUp
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if e != nil {
		return nil, fmt.Errorf("letting it run: %w", e)
	}
	if _, err = proc.Wait(g.ctx); err != nil && g.ctx.Err() == nil {
		return nil, fmt.Errorf("waiting for its end: %w", err)
	}
	goesOn := err != nil && proc.Running()
	tr, err := l.whole(trace.Exit{Code: -1})
	if err == nil && goesOn {
		tr.Losses = append(tr.Losses, trace.Loss{Kind: trace.LossTruncated, Detail: "it ran on when the program that had started it had ended"})
	}
	return tr, err
}

// commandOf is what is shown of a process.
func commandOf(pid int) trace.Process {
	var p trace.Process
	p.Program, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(line) > 0 {
		p.Command = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	}
	return p
}

// startChild changes a program that is held. If it fails the program is as it was, but for
// memory that it does not use. How it ends is not known then: its parent learns it.
func startChild(proc *ptrace.Process, of *target.Target, o Options) (*Live, error) {
	t, err := target.Started(proc.Pid(), of.Dir, of.Include, of.Exclude)
	if err == nil {
		_, err = t.OwnCode()
	}
	if err != nil {
		return nil, whyNot(err)
	}
	p, err := prepare(t, o)
	if err != nil {
		return nil, whyNot(err)
	}
	p.code() // when the process has ended nothing leads to its file any more
	l := &Live{t: t, p: p, tr: t.NewTrace("probe"), restore: func() {}, r: &running{proc: proc}, once: true}
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

// whyNot says why a program is not recorded, without what its user could do about it if it
// were the one to be recorded.
func whyNot(err error) error {
	nothing, unsuitable := (*target.NothingLeftError)(nil), (*Unsuitable)(nil)
	switch {
	case errors.Is(err, executable.ErrNotGo):
		return errors.New("no Go program")
	case errors.As(err, &nothing):
		return errors.New("none of its packages is to be recorded")
	case errors.As(err, &unsuitable):
		return errors.New(unsuitable.Why)
	}
	return err
}
