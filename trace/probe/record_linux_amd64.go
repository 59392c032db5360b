package probe

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/probe/patch"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
	"tracerag/trace/probe/payload"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/target"
)

// Record runs the target to its end and returns its trace. The target has our
// standard input, output and error, and the terminal if we have one. An
// [Unsuitable] error means that it has not run, and that another recorder may
// take it; any other that none can, or that it was lost while it ran.
func Record(ctx context.Context, t *target.Target, o Options) (*trace.Trace, error) {
	l, err := Start(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	l.once = true
	return l.Wait(ctx)
}

// prepared is what is known before the target starts.
type prepared struct {
	plan    *plan.Plan       // nil until ready, if there is an image
	clone   *executable.File // likewise; for the marks alone, so that they are read while calls are converted
	image   *image           // what an earlier start made of the plan; may be nil
	keep    func()           // keeps what this one made of it; may be nil
	decoded func() error     // waits for plan, if there is an image
	shape   shape
	dir     string // where plans are kept, if this one is
	key     planKey
	cached  bool // the plan was made by an earlier run
	code    code
	runtime payload.Runtime
	entry   uint64 // of the program, link-time

	protects bool // the target may change the protection of memory, perhaps that of its code
	sealed   bool // the target was killed for making its code writable
}

// prepare is begin, and waits for the plan.
func prepare(t *target.Target, o Options) (*prepared, error) {
	p, err := begin(t, o)
	if err != nil {
		return nil, err
	}
	if p.ready() != nil {
		return planAnew(t, o)
	}
	p.image.free()
	p.image = nil
	return p, nil
}

// ready waits until the plan and the program's functions are there. An error says that
// they cannot be used.
func (p *prepared) ready() error {
	if p.decoded == nil {
		return nil
	}
	return p.decoded()
}

// begin finds out what must be known of a target. If there is an image of its plan, the plan
// itself is decoded meanwhile, and the target's functions are read: see ready. They are not
// waited for: nothing but a plan that fits the same program becomes an image, which has the
// plan's checksum.
func begin(t *target.Target, o Options) (*prepared, error) {
	f := t.Binary
	if err := suitable(f); err != nil {
		return nil, err
	}
	kept, err := openPlans(t, o)
	if err != nil {
		return nil, err
	}
	defer kept.close()
	var form shape
	if kept != nil {
		form = kept.shape
	} else if err := t.Ready(); err == nil {
		form = shapeOf(f)
	} else {
		return nil, err
	}
	runtime, err := runtimeLayout(f.GoVersion, form.Race)
	if err != nil {
		return nil, err
	}
	own, err := t.OwnCode()
	if err == nil {
		err = spares(t, own)
	}
	if err != nil {
		return nil, err
	}
	e, err := elf.Open(t.Path)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	p := &prepared{runtime: runtime, entry: e.Entry, code: newCode(f), shape: form, protects: own.Protects != ""}
	if kept != nil {
		p.dir, p.key = o.CacheDir, kept.key
	}
	encoded := kept.encoded()
	if p.image = kept.loadImage(encoded); p.image != nil {
		p.cached = true
		p.decoded = sync.OnceValue(func() (err error) {
			if err = t.Ready(); err == nil {
				p.clone = f.Clone()
				p.plan, err = usable(encoded, f)
			}
			return err
		})
		go p.decoded()
		return p, nil
	}
	if err := t.Ready(); err != nil {
		return nil, err
	}
	p.clone = f.Clone()
	if p.plan, err = usable(encoded, f); err == nil {
		p.cached = true
		return p, nil
	}
	records := func(pkg string) bool {
		// Package main has hooks in any case: main.main ends initialisation.
		return t.Records(pkg) || pkg == f.MainPath || pkg == "main"
	}
	checked := make(chan error, 1)
	go func() { checked <- checkLayout(t.Path, f, runtime) }()
	code, err := f.Code()
	if err == nil {
		p.plan, err = patch.Make(f, code, records, patch.Options{Inlined: !o.NoInlined, Lines: !o.NoLines})
	}
	if e := <-checked; e != nil {
		return nil, e
	}
	if err != nil {
		return nil, &Unsuitable{Why: "its code cannot be patched", Err: err}
	}
	kept.save(p.plan)
	return p, nil
}

// suitable reports why a file is no program for this recorder, as far as its headers tell.
func suitable(f *executable.File) error {
	if f.GOOS != "linux" || f.GOARCH != "amd64" {
		return &Unsuitable{Why: fmt.Sprintf("it is a program for %s/%s", f.GOOS, f.GOARCH)}
	}
	for _, s := range f.Settings {
		if (s.Key == "-msan" || s.Key == "-asan") && s.Value == "true" {
			return &Unsuitable{Why: "it is built with " + s.Key + ", whose runtime keeps an account of all memory"}
		}
	}
	return nil
}

// spares reports why the target would not bear changed code.
func spares(t *target.Target, own target.OwnCode) error {
	if err := own.Refused(t.Path); err != nil {
		return err
	}
	if own.Changes != "" {
		return &Unsuitable{Why: "the program changes its own code (" + own.Changes + ")"}
	}
	return nil
}

// running is a target whose calls are recorded.
type running struct {
	proc   *ptrace.Process
	layout payload.Layout
	text   uint64 // run-time address of the program's text
	mem    []byte
	file   *os.File
	code   ptrace.Range   // the recorder and the stubs
	skip   []ptrace.Range // what is ours of the memory that the target may write
	marks  blockMarks
	owner  owner  // what the shared memory says of us
	watch  func() // ends guard

	writable bool // the target may write its own code
	unmarked bool // there was no memory for the marks
	imaged   bool // the stubs are those of an image
}

// close gives the shared memory back.
func (r *running) close() {
	if r.watch != nil {
		r.watch()
		r.watch = nil
	}
	if r.mem != nil {
		_ = unix.Munmap(r.mem)
		r.file.Close()
		r.mem = nil
	}
	r.marks.close()
}

// reach is how far from the program's code ours may lie: jumps have 32 bits.
const reach = 1<<31 - 1<<20

// maxStub is more than a stub takes, in bytes.
const maxStub = 160

// start starts the target and patches it. It is still held then.
func start(t *target.Target, p *prepared, o Options) (*running, error) {
	files, release, err := t.Files()
	if err != nil {
		return nil, err
	}
	defer release()
	proc, err := ptrace.Start(t.Path, t.Args, ptrace.Attr{Dir: t.Dir, Files: files})
	if errors.Is(err, ptrace.ErrPtrace) || errors.Is(err, ptrace.ErrProc) || errors.Is(err, ptrace.ErrPrivileged) || errors.Is(err, fs.ErrPermission) {
		return nil, err // as with any recorder
	}
	if err != nil {
		return nil, &Unsuitable{Why: "it cannot be started and held", Err: err}
	}
	r := &running{proc: proc}
	// The file may have been replaced between our reading it and its start.
	if same, err := t.Binary.IsAt(fmt.Sprintf("/proc/%d/exe", proc.Pid())); err == nil && !same {
		proc.Abandon()
		return nil, fmt.Errorf("%s: the file was replaced while it was being read; it has not run: start again", t.Path)
	}
	text, err := r.matches(p)
	defer text.free()
	if err != nil {
		return r.other(t, p, o, err)
	}
	if !p.sealed && r.unseal(t, p) != nil {
		p.sealed = true
		proc.Abandon()
		return start(t, p, o)
	}
	patches, err := r.arm(t, p, o)
	if err == nil {
		err = r.writeText(patches, text)
	}
	if err != nil {
		return r.other(t, p, o, err)
	}
	return r, nil
}

// other starts the target with another plan, where the one that did not do was an
// earlier run's: its file may be damaged and not show it.
func (r *running) other(t *target.Target, p *prepared, o Options, err error) (*running, error) {
	r.proc.Abandon()
	r.close()
	if p.cached {
		fresh, e := planAnew(t, o)
		if e == nil {
			return start(t, fresh, o)
		}
		err = e
	}
	return nil, &Unsuitable{Why: "it cannot be changed in memory", Err: err}
}

// planAnew forgets the plan that is kept and makes another one.
func planAnew(t *target.Target, o Options) (*prepared, error) {
	kept, err := openPlans(t, o)
	if err != nil {
		return nil, err
	}
	defer kept.close()
	kept.remove(t)
	return prepare(t, Options{NoInlined: o.NoInlined, NoLines: o.NoLines, Memory: o.Memory})
}

// slide is how far the program was loaded from its link-time addresses.
func (r *running) slide(p *prepared) (uint64, error) {
	entry, err := r.proc.Entry()
	return entry - p.entry, err
}

// arm maps our memory into the target and returns what is to be changed in its
// code.
func (r *running) arm(t *target.Target, p *prepared, o Options) ([]stubs.Patch, error) {
	slide, err := r.slide(p)
	if err != nil {
		return nil, err
	}
	r.text = p.shape.Start + slide
	var inner []uint32
	var changed, marks uint64
	if im := p.image; im != nil {
		inner, changed, marks = im.words(), im.changes, im.marks
	} else {
		inner, changed, marks = p.plan.Inner(), changes(p.plan), uint64(len(p.plan.Marks))
	}
	if err := r.share(t, inner, o); err != nil {
		return nil, err
	}
	code, err := payload.Assemble(p.runtime, r.layout)
	if err != nil {
		return nil, err
	}
	stubsAt := (uint64(len(code.Bytes)) + 63) &^ 63
	most := (stubsAt + changed*maxStub + 4095) &^ 4095
	if im := p.image; im != nil && im.entries.Writable == r.writable && (im.entries.Call == 0) == p.protects {
		// Less room is close to the program, at the same address, more often.
		most = (stubsAt + uint64(len(p.image.stubs)) + 4095) &^ 4095
	}
	if r.owner, err = ourselves(); err != nil {
		return nil, err
	}
	r.owner.Memory = ptrace.Range{Start: r.layout.Base, End: r.layout.Base + r.layout.Size()}
	r.owner.States = r.layout.States(p.runtime)
	if r.writable {
		r.owner.Writable = 1
	}
	r.skip = append(r.skip, r.owner.Memory)
	base, err := r.reserve(most, int(marks))
	if err != nil {
		return nil, err
	}
	if err := r.ownStacks(t); err != nil {
		return nil, err
	}
	header := r.layout.Header()
	copy(r.mem, header[:payload.OwnerOff])
	copy(r.mem[payload.OwnerOff+payload.OwnerSize:], header[payload.OwnerOff+payload.OwnerSize:])
	r.watch = r.guard()
	callEntry := base + uint64(code.Call)
	if p.protects {
		// Should it write over a function after all, then every call of that
		// function must find what was written.
		callEntry = 0
	}
	stubs, patches, err := r.emit(p, base+stubsAt, slide, stubs.Entries{
		Enter: base + uint64(code.Enter), Go: base + uint64(code.Enter), Leaf: base + uint64(code.Leaf), Block: base + uint64(code.Block), Bare: base + uint64(code.Bare),
		Way:   base + uint64(code.Way),
		Call:  callEntry,
		Marks: r.marks.at.Start, Writable: r.writable,
	})
	if err != nil {
		return nil, err
	}
	size := (stubsAt + uint64(len(stubs)) + 4095) &^ 4095
	if size > most {
		return nil, fmt.Errorf("the stubs take %d bytes", size)
	}
	if err := r.proc.MapCode(base, size); err != nil {
		return nil, err
	}
	r.code = ptrace.Range{Start: base, End: base + size}
	if _, err := r.proc.WriteAt(code.Bytes, int64(base)); err != nil {
		return nil, err
	}
	if _, err := r.proc.WriteAt(stubs, int64(base+stubsAt)); err != nil {
		return nil, err
	}
	return patches, nil
}

// emit returns the stubs and patches of the plan: those of the image, if that has them.
func (r *running) emit(p *prepared, at, slide uint64, e stubs.Entries) ([]byte, []stubs.Patch, error) {
	if p.image != nil && p.image.fits(at, e) {
		r.imaged = true
		return p.image.stubs, p.image.allPatches(), nil
	}
	if err := p.ready(); err != nil {
		return nil, nil, err
	}
	plan := *p.plan
	if r.marks.mem == nil {
		plan.Marks = nil
	}
	code, patches, err := stubs.Emit(&plan, at, slide, e)
	if nearer := p.image == nil || apart(at, r.text) < apart(p.image.at, r.text); err == nil && slide == 0 && p.dir != "" && !r.unmarked && nearer {
		// Mostly the stubs are right before or behind the program. Where its heap begins too
		// close they are at an address of chance.
		p.keep = func() { newImage(&plan, at, e, code, patches).keep(p.dir, p.key, &plan) }
	}
	return code, patches, err
}

// apart is how far two addresses are from each other.
func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// reserve finds room for so many bytes of code, and maps memory for the marks before
// them; without that there are no marks. What is mapped is noted first.
func (r *running) reserve(code uint64, marks int) (base uint64, err error) {
	note := func(marks uint64) {
		r.owner.Marks = ptrace.Range{Start: base, End: base + marks}
		r.owner.Code = ptrace.Range{Start: base + marks, End: base + marks + code}
		r.note(r.owner)
	}
	if marks > 0 {
		size := marksSize(marks)
		if base, err = r.proc.FindRoom(r.text, code+size, reach); err == nil {
			note(size)
			err = r.shareMarks(marks, base)
		}
		if err == nil {
			return base + size, nil
		}
		r.unmarked = true
	}
	if base, err = r.proc.FindRoom(r.text, code, reach); err == nil {
		note(0)
	}
	return base, err
}

// share maps the shared memory, in a smaller size where a limit refuses it or
// would then refuse the program its own.
func (r *running) share(t *target.Target, inner []uint32, o Options) error {
	memory := o.Memory
	if memory == 0 {
		memory = reservable(available(r.proc.Pid()))
	}
	r.layout = payload.NewLayout(inner, 4*runtime.NumCPU(), memory)
	if o.limit != nil {
		o.limit(&r.layout)
	}
	for most := r.mostShared(t); r.layout.Size() > most; {
		if !r.layout.Shrink() {
			return fmt.Errorf("its address space is limited (ulimit -v), and the recorder takes %d MB of it", r.layout.Size()>>20)
		}
	}
	for {
		base, err := r.proc.FindRoom(r.text, r.layout.Size(), 1<<46)
		if err == nil {
			r.layout.Base = base
			r.mem, r.file, err = r.proc.Share(r.layout.Size(), base)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, ptrace.ErrMemory) || !r.layout.Shrink() {
			return err
		}
	}
	return nil
}

// ownStacks gives the target shadow stacks that it does not share. A program that forks, and
// goes on without starting another one, is two processes with the same goroutine; with one
// stack for both each would take the other's calls for its own. They stay shared where
// private memory is counted or would be resident at once.
func (r *running) ownStacks(t *target.Target) error {
	if own, err := t.OwnCode(); err != nil || own.Locks != "" || own.Limits != "" {
		return nil
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(r.proc.Pid(), unix.RLIMIT_DATA, nil, &limit); err != nil || limit.Cur != unix.RLIM_INFINITY || overcommit() == "2" {
		return nil
	}
	at := r.layout.Base + r.layout.Stacks()
	return r.proc.MakePrivate(at, r.layout.Base+r.layout.Size()-at)
}

// mostShared is how much memory may be shared with the target. Only what is used
// takes room, so that is no matter in most programs.
func (r *running) mostShared(t *target.Target) uint64 {
	most := uint64(math.MaxUint64)
	// Of an address space with a limit the program must have nearly all.
	var limit unix.Rlimit
	if err := unix.Prlimit(r.proc.Pid(), unix.RLIMIT_AS, nil, &limit); err == nil && limit.Cur != unix.RLIM_INFINITY {
		most = limit.Cur / 16
	}
	own, err := t.OwnCode()
	if err != nil || own.Limits != "" {
		// It reckons with what it has alone, which is more than a gigabyte in Go.
		most = min(most, 512<<20)
	}
	// What a program locks is resident, whether it is used or not.
	if err != nil || own.Locks != "" {
		most = min(most, 128<<20)
	}
	return most
}

// memory is the shared memory as a file of which most was never written.
type memory struct{ *os.File }

func (r *running) memory() memory { return memory{r.file} }

// NextUsed returns where in n bytes from off on the first one is that may have been
// written; off+n if none was.
func (m memory) NextUsed(off, n int64) int64 {
	at, err := unix.Seek(int(m.Fd()), off, unix.SEEK_DATA)
	switch {
	case err == unix.ENXIO:
		return off + n
	case err != nil:
		return off
	}
	return min(at, off+n)
}
