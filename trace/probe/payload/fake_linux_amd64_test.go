package payload

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tracerag/trace/probe/payload/source"
)

// Here the recorder's code runs in the test's own process, on goroutines that are
// not real: a g, an m, a p and a stack, as far as the recorder looks at them. The
// offsets in these structs are like none of a Go release.

var fakeRuntime = Runtime{State: 72, GoID: 64, GoPC: 40, M: 56, P: 24, ID: 12}

const (
	stackHi  = 8 // of stack.hi in g, in every release
	wordsOfG = 16
)

// text is in the place of the program's code, of which the recorder looks at direct
// calls only. It begins at textAt.
var (
	text = func() []byte {
		b, err := unix.Mmap(-1, 0, 64<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			panic(err)
		}
		return b
	}()
	textAt = addressOf(text)
)

// directCall writes a call of the function at an address that returns to ret.
func directCall(ret, callee uint64) {
	at := text[ret-textAt-5:]
	at[0] = 0xe8
	le.PutUint32(at[1:], uint32(callee-ret))
}

// wayAt is where the waypoint with this number begins.
func wayAt(fn int) uint64 { return textAt + 0xa000 + uint64(fn)*256 }

// deepen has the recorder think that a goroutine had a long walk, if it knows the
// goroutine at all.
func (tg *target) deepen(g *goroutine) {
	const deep = 80 // in a goroutine's state
	if state := le.Uint64(g.g[fakeRuntime.State:]); state != 0 {
		tg.mem[state-tg.layout.Base+deep] = 1
	}
}

// target is what the recorder's code works on: its memory, and itself.
type target struct {
	layout Layout
	mem    []byte
	enter  uintptr
	leaf   uintptr
	block  uintptr
	bare   uintptr
	way    uintptr
	direct uintptr
	stubs  []byte // of direct calls, but for their code; and what is at their functions' entries
}

// small is a layout that is quickly made.
var small = Layout{inner: inner(16), slots: 1 << 16, maxCells: 1 << 16 / 8 * 7, rows: 4, arena: 1 << 20}

// inner is of so many hooks, each of which has blocks and direct calls inside.
func inner(hooks int) []uint32 {
	in := make([]uint32, hooks)
	for fn := range in {
		in[fn] = blocksOf(fn) + uint32(len(program))
	}
	return in
}

// blocksOf is how many blocks function fn has. Its direct calls have the numbers behind
// them, so that a block's number in one function is a direct call's in another.
func blocksOf(fn int) uint32 {
	if fn >= len(program) {
		return 0
	}
	return program[fn].blocks
}

func newTarget(t testing.TB, l Layout) *target {
	t.Helper()
	mem := mapped(t, int(l.Size()))
	l.Base = addressOf(mem)
	copy(mem, l.Header())
	c, err := Assemble(fakeRuntime, l)
	if err != nil {
		t.Fatal(err)
	}
	code := mapped(t, len(c.Bytes))
	copy(code, c.Bytes)
	if err := unix.Mprotect(code, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		t.Skip("memory cannot be made executable here:", err)
	}
	at := uintptr(addressOf(code))
	stubs := mapped(t, 4096)
	tg := &target{layout: l, mem: mem, enter: at + uintptr(c.Enter), leaf: at + uintptr(c.Leaf), block: at + uintptr(c.Block), bare: at + uintptr(c.Bare), way: at + uintptr(c.Way), direct: at + uintptr(c.Call), stubs: stubs}
	for hook := range uint32(len(stubs) / stubSize) {
		b := stubs[hook*stubSize:]
		le.PutUint32(b, hook)
		le.PutUint32(b[4:], entryIn)                                  // from the stub, which would begin here, to the entry
		b = append(b[:8+entryIn], 0x48, 0x83, 0xec, 0x08, 0x41, 0xbd) // sub rsp, 8; mov r13d, hook: as if the stub had called
		b = append(le.AppendUint32(b, hook), 0xe9)                    // jmp enter
		le.AppendUint32(b, uint32(uint64(tg.enter)-addressOf(b[len(b):cap(b)])-4))
	}
	if err := unix.Mprotect(stubs, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		t.Fatal(err)
	}
	return tg
}

// A fake stub of a direct call: what is before it, and the entry of the function,
// of which the hook counts the call in the ordinary way.
const (
	stubSize = 32
	entryIn  = 8
)

// directFrom does what the stub of a direct call does: the return address is on top
// of the stack, and the call before it leads to the stub. K is the call's number
// among the hooks of its function.
func (tg *target) directFrom(t testing.TB, th *thread, g *goroutine, hook, k uint32) {
	t.Helper()
	tg.leadTo(g.load(g.sp), hook)
	tg.callKeeps(t, tg.direct, th, g, k)
}

// leadTo has the call that returns to ret lead to the stub of a hook.
func (tg *target) leadTo(ret uint64, hook uint32) {
	directCall(ret, addressOf(tg.stubs[hook*stubSize+8:]))
}

// tree reads what was recorded.
func (tg *target) tree(t testing.TB) *Tree {
	t.Helper()
	tree, err := tg.layout.Read(bytes.NewReader(tg.mem), textAt)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// mapped maps memory of its own, which takes room as it is written to.
func mapped(t testing.TB, size int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, (size+4095)&^4095, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	return b
}

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// thread is an m and what it runs on: structs outside of Go's heap, where they have
// an address that stays.
type thread struct{ m, p []byte }

// processor is a p with this id.
func processor(t testing.TB, id uint32) []byte {
	p := mapped(t, 64)
	le.PutUint32(p[fakeRuntime.ID:], id)
	return p
}

// newThread is one without a P, which runs no goroutine.
func newThread(t testing.TB) *thread { return &thread{m: mapped(t, 64)} }

// on gives the thread a P; nil takes it away.
func (th *thread) on(p []byte) {
	th.p = p
	addr := uint64(0)
	if p != nil {
		addr = addressOf(p)
	}
	le.PutUint64(th.m[fakeRuntime.P:], addr)
}

// goroutine is a g with its stack, and the registers that matter.
type goroutine struct {
	g     []byte
	stack []byte
	hi    uint64 // end of the stack
	sp    uint64
	bp    uint64
	regs  source.Registers
	seed  uint64
}

func newGoroutine(t testing.TB, stack int) *goroutine {
	return &goroutine{g: mapped(t, wordsOfG*8), stack: mapped(t, stack)}
}

// start makes the g a new goroutine, made by the go statement that returns to pc.
// Its stack begins as the runtime's newproc has it.
func (g *goroutine) start(id, pc uint64) {
	g.hi = addressOf(g.stack) + uint64(len(g.stack)) - 64
	g.sp, g.bp = g.hi-32, 0
	le.PutUint64(g.g[stackHi:], g.hi)
	le.PutUint64(g.g[fakeRuntime.GoID:], id)
	le.PutUint64(g.g[fakeRuntime.GoPC:], pc)
}

// at is the stack from an address.
func (g *goroutine) at(addr uint64) []byte { return g.stack[addr-addressOf(g.stack):] }

func (g *goroutine) load(addr uint64) uint64     { return le.Uint64(g.at(addr)) }
func (g *goroutine) store(addr uint64, v uint64) { le.PutUint64(g.at(addr), v) }

// enterFrom does what the stub of a function does that was just called: the return
// address is on top of the stack.
func (tg *target) enterFrom(t testing.TB, th *thread, g *goroutine, hook uint32) {
	t.Helper()
	tg.callKeeps(t, tg.enter, th, g, hook)
}

// blockIn does what the stub of a block does, in the function that runs, which has
// a frame or not.
func (tg *target) blockIn(t testing.TB, th *thread, g *goroutine, k uint32, framed bool) {
	t.Helper()
	entry := tg.bare
	if framed {
		entry = tg.block
	}
	g.store(g.sp-8, uint64(k))
	before, now := tg.call(t, entry, th, g, g.sp-8, uint32(g.random()))
	before.R12, before.SP = uint64(entry), g.sp // the block's number was taken off
	if now != before {
		t.Errorf("registers are\n%x\nbefore\n%x", now, before)
	}
}

// wayFrom does what the stub of a waypoint does.
func (tg *target) wayFrom(t testing.TB, th *thread, g *goroutine, fn int) {
	t.Helper()
	tg.callKeeps(t, tg.way, th, g, uint32(wayAt(fn)))
}

// stackNeed is what the recorder's stub is promised, see package stubs.
const stackNeed = 256

// callKeeps calls an entry for functions and requires that all registers are kept but
// R12, R13, R15 and the flags.
func (tg *target) callKeeps(t testing.TB, entry uintptr, th *thread, g *goroutine, r13 uint32) {
	t.Helper()
	before, now := tg.call(t, entry, th, g, g.sp, r13)
	now.R12, now.R13, now.R15 = before.R12, before.R13, before.R15
	if now != before {
		t.Errorf("registers are\n%x\nbefore\n%x", now, before)
	}
}

// call calls an entry of the recorder and returns the registers before and after. It
// requires that the stack is kept, but for what is free below the stack pointer.
func (tg *target) call(t testing.TB, entry uintptr, th *thread, g *goroutine, sp uint64, r13 uint32) (before, now source.Registers) {
	t.Helper()
	le.PutUint64(g.g[fakeRuntime.M:], addressOf(th.m))
	r := &g.regs
	for _, reg := range []*uint64{&r.AX, &r.BX, &r.CX, &r.DX, &r.SI, &r.DI, &r.R8, &r.R9, &r.R10, &r.R11, &r.R15} {
		*reg = g.random()
	}
	for i := range r.X {
		r.X[i] = [2]uint64{g.random(), g.random()}
	}
	r.SP, r.BP, r.R14, r.R13 = sp, g.bp, addressOf(g.g), uint64(r13)
	before = *r
	low := g.sp - stackNeed - 64
	const kept = 512
	var stack, after [kept]byte
	copy(stack[:], g.at(low))

	source.Call(entry, r)

	copy(after[:], g.at(low))
	clear(stack[64 : 64+stackNeed])
	clear(after[64 : 64+stackNeed])
	if stack != after {
		t.Errorf("the stack was changed elsewhere than in the %d bytes below the stack pointer", stackNeed)
	}
	return before, *r
}

// random is a number that is different each time.
func (g *goroutine) random() uint64 {
	g.seed += 0x9e3779b97f4a7c15
	x := g.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
