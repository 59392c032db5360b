package probe

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"tracerag/trace"
	"tracerag/trace/probe/patch"
	"tracerag/trace/probe/patch/lines"
	"tracerag/trace/probe/payload"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/target"
)

// blockMarks is the memory, shared with the target, of the bytes that say which blocks
// ran. It is apart from the rest because the stubs must reach it.
type blockMarks struct {
	mem  []byte
	file *os.File
	at   ptrace.Range
}

// marksSize is how much memory n marks take.
func marksSize(n int) uint64 { return (uint64(n) + 4095) &^ 4095 }

// shareMarks maps memory for n marks at an address.
func (r *running) shareMarks(n int, base uint64) error {
	size := marksSize(n)
	mem, file, err := r.proc.Share(size, base)
	if err != nil {
		return err
	}
	r.marks = blockMarks{mem, file, ptrace.Range{Start: base, End: base + size}}
	return nil
}

// unseal has the target make its own code writable, so that marks can give it back to
// the program. Where that is refused they stay, and cost what they cost. It is done in
// one piece: the runtime's profiler looks for the program's code as one mapping.
//
// The error is that a filter of system calls has killed the target for it.
func (r *running) unseal(t *target.Target, p *prepared) error {
	if p.protects {
		return nil // what it protects could be this: marks would fault
	}
	if im := p.image; im != nil && !im.once || im == nil && !once(p.plan) {
		return nil
	}
	// What may be written counts as data, which a limit may be set to, and becomes
	// resident in a program that locks its memory.
	own, err := t.OwnCode()
	if err != nil || own.Locks != "" || own.Limits != "" {
		return nil
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(r.proc.Pid(), unix.RLIMIT_DATA, nil, &limit); err != nil || limit.Cur != unix.RLIM_INFINITY {
		return nil
	}
	entry, err := r.proc.Entry()
	if err != nil {
		return nil
	}
	maps, err := r.proc.Maps()
	if err != nil {
		return nil
	}
	slide := entry - p.entry
	first, last := p.shape.Start+slide, p.shape.End+slide
	i := slices.IndexFunc(maps, func(m ptrace.Mapping) bool { return m.Start <= first && last <= m.End })
	if i < 0 || maps[i].Perms != "r-xp" {
		return nil
	}
	_, err = r.proc.Syscall(unix.SYS_MPROTECT, uintptr(maps[i].Start), uintptr(maps[i].End-maps[i].Start), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC)
	r.writable = err == nil
	if errors.Is(err, ptrace.ErrEnded) {
		if exit, e := r.proc.Wait(context.Background()); e == nil && exit.Signal == "SIGSYS" {
			return err
		}
	}
	return nil
}

// bytes returns the marks as they are now.
func (m *blockMarks) bytes() []byte { return slices.Clone(m.mem) }

func (m *blockMarks) close() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem)
		m.file.Close()
		m.mem = nil
	}
}

// watcher returns what reads the marks; nil: the program's code is gone. To make it takes a
// look at all functions of the program.
func (l *Live) watcher() *patch.Watch {
	l.watching.Do(func() {
		if text := l.p.code(); text != nil {
			l.watch = patch.NewWatch(l.p.plan, l.p.clone, text)
		}
	})
	return l.watch
}

// fated is what became of a function's lines, until two snapshots.
type fated struct {
	fn          int
	before, now map[int]lines.Fate
}

// fatesOf returns what became of the lines of the functions that were called until a
// snapshot, and until an earlier one, which may be nil. It is for one goroutine at a time.
func (l *Live) fatesOf(from, to *Snapshot) (all []fated) {
	if len(to.marks) == 0 {
		return nil
	}
	watch := l.watcher()
	if watch == nil {
		return nil
	}
	for _, fn := range l.called(to.tree) {
		f := fated{fn: fn, now: watch.Lines(fn, !l.attached, l.fates(to.marks))}
		if f.now == nil {
			continue
		}
		if from != nil {
			f.before = watch.Lines(fn, !l.attached, l.fates(from.marks))
		}
		all = append(all, f)
	}
	return all
}

// lines adds to tr which lines of its functions ran between two snapshots, the
// first of which may be nil for the target's start. What ran before the first one
// may have run again since.
func (l *Live) lines(from, to *Snapshot, tr *trace.Trace) {
	l.marking.Lock()
	defer l.marking.Unlock()
	l.addLines(l.fatesOf(from, to), from == nil, tr)
}

// addLines adds to tr what became of lines; whole says that there is no earlier snapshot.
func (l *Live) addLines(fates []fated, whole bool, tr *trace.Trace) {
	ids := make(map[string]trace.FuncID, len(tr.Functions))
	for i := range tr.Functions {
		ids[tr.Functions[i].Name] = trace.FuncID(i)
	}
	all := map[trace.FuncID]map[int]trace.LineState{}
	for _, f := range fates {
		id, ok := ids[l.t.Binary.Funcs[f.fn].Name]
		if !ok {
			continue
		}
		if all[id] == nil {
			all[id] = map[int]trace.LineState{}
		}
		for line, fate := range f.now {
			s := trace.LineUnknown
			switch {
			case fate == lines.NotRun:
				s = trace.LineNotRun
			case fate == lines.Ran && (whole || f.before[line] == lines.NotRun):
				s = trace.LineRan
			}
			merge(all[id], line, s)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if s := states(all[id]); s.States != "" {
			if tr.Lines == nil {
				tr.Lines = map[trace.FuncID]trace.Lines{}
			}
			tr.Lines[id] = s
		}
	}
}

// called returns the functions that were called, by index in the binary.
func (l *Live) called(tree *payload.Tree) []int {
	set := map[int]bool{}
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		if id := int(n.Hook&^payload.Unpushed) - 1; n.Hook&payload.Root == 0 && id >= 0 && id < len(l.p.plan.Hooks) && n.Calls > 0 {
			if h := &l.p.plan.Hooks[id]; h.Kind.Entry() {
				set[h.Func] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// fates reads the marks.
func (l *Live) fates(bytes []byte) func(i int) lines.Fate {
	slide := l.r.text - l.t.Binary.TextStart
	return func(i int) lines.Fate {
		switch {
		case i >= len(bytes) || l.busy[l.p.plan.Marks[i].At+slide]:
			return lines.Unknown
		case bytes[i] != 0:
			return lines.Ran
		}
		return lines.NotRun
	}
}

// merge adds what became of a line in one copy of a function, such as that of a
// generic one for some type, to what became of it in others.
func merge(lines map[int]trace.LineState, line int, s trace.LineState) {
	old, ok := lines[line]
	switch {
	case !ok, s == trace.LineRan, s == trace.LineUnknown && old == trace.LineNotRun:
		lines[line] = s
	}
}

// longest is more lines than any function has.
const longest = 1 << 20

func states(lines map[int]trace.LineState) trace.Lines {
	if len(lines) == 0 {
		return trace.Lines{}
	}
	numbers := slices.Sorted(maps.Keys(lines))
	first, last := numbers[0], numbers[len(numbers)-1]
	if last-first >= longest {
		return trace.Lines{}
	}
	b := make([]byte, last-first+1)
	for i := range b {
		b[i] = byte(trace.LineNoCode)
		if s, ok := lines[first+i]; ok {
			b[i] = byte(s)
		}
	}
	return trace.Lines{First: first, States: string(b)}
}
