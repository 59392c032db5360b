package probe

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tracerag/trace"
	"tracerag/trace/probe/patch/stubs"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/target"
)

// Attach begins to record a running process; t is its program. All its
// threads are stopped for the moment that the change takes. Only calls that begin
// after that are seen: below a goroutine is first what it called next.
//
// [Live.Detach] undoes it. If ctx is done before, the process goes on as it was, and the
// error is that of ctx.
func Attach(ctx context.Context, t *target.Target, pid int, o Options) (*Live, error) {
	p, err := prepareUntil(ctx, t, o)
	if err != nil {
		return nil, err
	}
	proc, err := ptrace.Attach(pid)
	if err != nil {
		return nil, err
	}
	l := &Live{t: t, p: p, tr: t.NewTrace("probe"), restore: func() {}, r: &running{proc: proc}}
	l.attached = true
	if l.found, err = l.r.takeOver(t, p); err != nil {
		return nil, fmt.Errorf("process %d %w", pid, errors.Join(err, proc.Detach()))
	}
	if err := l.changeAll(o); err != nil {
		err = errors.Join(err, proc.Detach())
		l.r.close()
		if l.found != "" {
			return nil, fmt.Errorf("process %d: %s; it is not recorded: %w", pid, l.found, err)
		}
		return nil, fmt.Errorf("process %d was not changed: %w", pid, err)
	}
	if ctx.Err() != nil { // somebody waits, and it has run nothing of ours
		err := errors.Join(l.undo(false), proc.Detach())
		l.r.close()
		if err != nil {
			return nil, fmt.Errorf("process %d: letting it go: %w", pid, err)
		}
		return nil, ctx.Err()
	}
	l.tr.Start = time.Now().UTC()
	if err := proc.Detach(); err != nil {
		l.r.close()
		return nil, fmt.Errorf("process %d: letting it go on: %w", pid, err)
	}
	return l, nil
}

// prepareUntil is prepare, of which nobody has to see the end: it takes seconds for a
// large program, and changes nothing.
func prepareUntil(ctx context.Context, t *target.Target, o Options) (*prepared, error) {
	var p *prepared
	var err error
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		if p, err = prepare(t, o); err == nil {
			p.code() // now: when the process has ended nothing leads to its file any more
		}
	}()
	select {
	case <-ready:
		return p, cmp.Or(ctx.Err(), err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Found says what an earlier tracerag had left in a process that was attached to, and
// what became of it; "" if there was nothing.
func (l *Live) Found() string { return l.found }

// changeAll patches a process whose threads are stopped. If it fails the process is as
// it was.
func (l *Live) changeAll(o Options) (err error) {
	text, err := l.r.matches(l.p)
	text.free()
	if err != nil && l.p.cached {
		if l.p, err = planAnew(l.t, o); err != nil {
			return err
		}
		text, err = l.r.matches(l.p)
		text.free()
	}
	if err != nil {
		return err
	}
	if _, err := l.r.parts(); err != nil {
		return err // before anything is changed
	}
	if err := l.change(o); err != nil {
		return errors.Join(err, l.undo(false))
	}
	return nil
}

// undo gives the process, which is held, back what change took; ran says that it has run
// since.
func (l *Live) undo(ran bool) error {
	if l.r.mem == nil {
		return nil
	}
	if err := l.r.putBack(l.patches); err != nil {
		return err
	}
	// What is mapped may be less than what was going to be.
	o := l.r.owner
	o.Memory = ptrace.Range{Start: l.r.layout.Base, End: l.r.layout.Base + l.r.layout.Size()}
	o.Code, o.Marks = l.r.code, l.r.marks.at
	if !ran {
		return l.r.unmapAll(&o) // nothing leads there yet, whatever a word in its memory looks like
	}
	return l.r.leave(&o)
}

func (l *Live) change(o Options) error {
	patches, err := l.r.arm(l.t, l.p, o)
	if err != nil {
		return err
	}
	// Nobody may be in the middle of the bytes: neither a thread nor a
	// goroutine that was preempted there.
	if err := l.r.proc.MoveOut(insides(patches)...); err != nil {
		return err
	}
	busy, err := l.inUse(patches)
	if err != nil {
		return err
	}
	l.patches = slices.DeleteFunc(patches, func(p stubs.Patch) bool { return busy[p.Addr] })
	l.busy = busy
	if len(busy) > 0 {
		l.tr.Losses = append(l.tr.Losses, trace.Loss{Kind: trace.LossNotHooked, Count: int64(len(busy)),
			Detail: "places in the code that a goroutine was about to run when it was attached to"})
	}
	return l.r.write(l.patches)
}

// insides are the bytes of patches at which the code before and after is not the
// same instruction: all but the first.
func insides(patches []stubs.Patch) []ptrace.Range {
	out := make([]ptrace.Range, 0, len(patches))
	for i := range patches {
		out = append(out, ptrace.Range{Start: patches[i].Addr + 1, End: patches[i].End()})
	}
	return out
}

// inUse returns the patches in the middle of which a goroutine was preempted: to
// which a word in use of its stack points.
func (l *Live) inUse(patches []stubs.Patch) (map[uint64]bool, error) {
	inside := map[uint64]uint64{}
	lo, hi := ^uint64(0), uint64(0)
	for i := range patches {
		p := &patches[i]
		for at := p.Addr + 1; at < p.End(); at++ {
			inside[at] = p.Addr
		}
		lo, hi = min(lo, p.Addr), max(hi, p.End())
	}
	var words []savedPC
	err := l.r.scan(func(at, word uint64) {
		if word >= lo && word < hi {
			if _, ok := inside[word]; ok {
				words = append(words, savedPC{at, word})
			}
		}
	})
	if err == nil {
		words, err = l.r.inUse(words)
	}
	busy := map[uint64]bool{}
	for _, w := range words {
		busy[inside[w.pc]] = true
	}
	return busy, err
}

// mostScanned bounds the time that a process stands still for a look at its
// memory: about a second.
const mostScanned = 4 << 30

// errTooMuch: the process has more memory than can be looked through while it stands still.
var errTooMuch = errors.New("too much to look for preempted goroutines in")

// part is memory that a process may write.
type part struct {
	ptrace.Range
	named bool // a device or a file
}

// parts are what the process may write, but for what is ours and what was never touched.
func (r *running) parts() ([]part, error) {
	maps, err := r.proc.Maps()
	if err != nil {
		return nil, err
	}
	maps = slices.DeleteFunc(maps, func(m ptrace.Mapping) bool {
		return len(m.Perms) < 2 || m.Perms[:2] != "rw" || strings.HasPrefix(m.Path, memoryName) ||
			slices.ContainsFunc(r.skip, func(s ptrace.Range) bool { return s.Start <= m.Start && m.End <= s.End })
	})
	var reserved, used uint64
	for _, m := range maps {
		reserved += m.End - m.Start
	}
	if reserved > ptrace.MostSearched {
		return nil, fmt.Errorf("it has reserved %d GiB of memory, %w", reserved>>30, errTooMuch)
	}
	var parts []part
	for _, m := range maps {
		for _, within := range r.proc.Resident(ptrace.Range{Start: m.Start, End: m.End}) {
			parts = append(parts, part{within, m.Path != ""})
			used += within.End - within.Start
		}
	}
	if used > mostScanned {
		return nil, fmt.Errorf("it uses %d MiB of memory, %w", used>>20, errTooMuch)
	}
	return parts, nil
}

// scan calls f for every aligned word of the memory that the process may write, but for
// what is ours.
func (r *running) scan(f func(addr, word uint64)) error {
	parts, err := r.parts()
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for _, p := range parts {
		for at := p.Start; at < p.End; {
			b := buf[:min(uint64(len(buf)), p.End-at)]
			n, err := r.proc.ReadAt(b, int64(at))
			if n == 0 {
				if err != nil && !p.named {
					return fmt.Errorf("reading its memory at %#x: %w", at, err)
				}
				break // of a device, or behind the end of a file
			}
			for i := 0; i+8 <= n; i += 8 {
				f(at+uint64(i), binary.LittleEndian.Uint64(b[i:]))
			}
			at += uint64(n)
		}
	}
	return nil
}

// Detach ends the recording of a process that was attached to and returns the
// trace: its code is again as it was.
func (l *Live) Detach() (*trace.Trace, error) {
	pid := l.Pid()
	proc, err := ptrace.Attach(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d goes on running and being counted: %w", pid, err)
	}
	l.r.proc = proc
	err = l.undo(true)
	if errors.Is(err, errTooMuch) {
		err = nil // its code is as it was, and what stays mapped is what nobody runs
	}
	tree, readErr := l.read()
	if err = errors.Join(err, readErr, proc.Detach()); err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	tr := *l.tr
	tr.Duration = time.Since(tr.Start)
	tr.Exit = trace.Exit{Code: -1}
	l.convert(tree, nil, &tr)
	l.lines(nil, &Snapshot{tree: tree, marks: l.r.marks.bytes()}, &tr)
	return &tr, nil
}

// DetachOr waits until ctx is done, and then detaches, or until the process has
// ended by itself. How that ended is not known.
func (l *Live) DetachOr(ctx context.Context) (*trace.Trace, error) {
	_, err := l.r.proc.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		return l.Detach()
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: waiting for its end: %w", l.Pid(), err)
	}
	return l.whole(trace.Exit{Code: -1})
}
