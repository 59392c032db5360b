package stubs

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
)

// Entries are the run-time addresses of the recorder's entry points.
type Entries struct {
	Enter uint64 // of Check, Frame, Leaf and CallSites
	Go    uint64
	Block uint64
	// Bare is that of a Block whose function is a Leaf, without a frame. 0: Block.
	Bare uint64
	// Leaf is that of a Leaf whose function has no Block: such a function calls
	// nothing, so no caller need ever be looked for there. 0: Enter.
	Leaf uint64
	// Way is that of Plan.Waypoints, with the low half of the function's address in
	// R13D. 0: they are left alone.
	Way uint64
	// Call is that of Plan.Calls. 0: they are left alone.
	Call uint64
	// Marks is where the bytes of the marks begin.
	Marks uint64
	// Writable is set if the program may write its own code: marks then give it back.
	Writable bool
}

// Patch is bytes to be written over the program's code. There may be a million, so it has
// them in itself.
type Patch struct {
	Addr     uint64 // at run time
	size     uint8
	old, new [7]byte
}

// NewPatch makes a patch of as many bytes old as new, 7 at most. If anything else than old is
// there the program is not the one that was planned for.
func NewPatch(addr uint64, old, new []byte) Patch {
	p := Patch{Addr: addr, size: uint8(len(new))}
	if copy(p.old[:], old) != copy(p.new[:], new) || len(new) != int(p.size) || len(new) > len(p.new) {
		panic("stubs: a patch of another size than what it replaces")
	}
	return p
}

// Old is what is there before.
func (p *Patch) Old() []byte { return p.old[:p.size] }

// New is what is there then.
func (p *Patch) New() []byte { return p.new[:p.size] }

// End is the address behind the patch.
func (p *Patch) End() uint64 { return p.Addr + uint64(p.size) }

// Inside is the bit in R13D that tells Go hooks, which are not entries.
const Inside = 1 << 30

// Emit writes the plan's stubs, which are to lie at base, and what is to be
// changed in the program's code, by address. Slide is how far the program was
// loaded from its link-time addresses. It fails when something is too far away
// for a jump: code, stubs and recorder must lie within 2 GiB.
func Emit(p *plan.Plan, base, slide uint64, e Entries) (stubs []byte, patches []Patch, err error) {
	em := &emitter{plan: p, base: base, slide: slide, at: make([]uint64, len(p.Hooks)), led: map[uint64]uint64{}, direct: map[uint64]direct{}, hosts: make([]int32, len(p.Hooks)), hosting: make([]bool, len(p.Hooks))}
	host := int32(-1)
	for i := range p.Hooks {
		if p.Hooks[i].Kind.Entry() {
			host = int32(i)
		}
		if em.hosts[i] = host; p.Hooks[i].Kind != plan.Block {
			continue
		}
		if host < 0 || p.Hooks[host].Func != p.Hooks[i].Func {
			return nil, nil, fmt.Errorf("the plan is damaged: hook %d is in a function without one", i+1)
		}
		em.hosting[host] = true
	}
	changes := len(p.Hooks) + len(p.Calls) + len(p.Marks) + len(p.Waypoints)
	em.out, em.patches = make([]byte, 0, 56*changes), make([]Patch, 0, changes)
	var parts []int // where patches of another kind begin: within a kind they are mostly sorted
	part := func() { parts = append(parts, len(em.patches)) }
	// The stubs that others lead to come first.
	for i := range p.Hooks {
		if h := &p.Hooks[i]; h.Kind == plan.CallSites {
			em.stub(i, h, e)
			em.led[h.Callee+slide] = em.at[i]
		}
	}
	part()
	if e.Call != 0 {
		em.calls(e.Call)
	}
	part()
	// What is near in the program is near here: it runs together.
	marks := make([]int, len(p.Marks))
	for i := range marks {
		marks[i] = i
	}
	slices.SortStableFunc(marks, func(a, b int) int { return cmp.Compare(p.Marks[a].At, p.Marks[b].At) })
	for i := range p.Hooks {
		h := &p.Hooks[i]
		if h.Kind == plan.CallSites {
			continue
		}
		for ; len(marks) > 0 && p.Marks[marks[0]].At < h.At; marks = marks[1:] {
			em.mark(marks[0], &p.Marks[marks[0]], &e)
		}
		em.stub(i, h, e)
	}
	for _, i := range marks {
		em.mark(i, &p.Marks[i], &e)
	}
	em.setMarks()
	part()
	if e.Way != 0 {
		for i := range p.Waypoints {
			em.waypoint(&p.Waypoints[i], e.Way)
		}
	}
	part()
	for i := range p.Hooks {
		if h := &p.Hooks[i]; h.Kind == plan.CallSites {
			for k, s := range h.Sites {
				em.redirect(s+slide, h.Code[k], h.Callee+slide, em.at[i])
			}
		}
	}
	part()
	for i := range p.Hooks {
		switch h := &p.Hooks[i]; h.Kind {
		case plan.CallSites:
		case plan.Go:
			em.redirect(h.At+slide, h.Code[0], h.Callee+slide, em.at[i])
		default:
			em.jump(h, em.at[i])
		}
	}
	if em.err != nil {
		return nil, nil, em.err
	}
	part()
	return em.out, merged(em.patches, parts), nil
}

// merged sorts patches by address, of which the parts that begin at these places nearly are:
// that takes a fraction of the time of sorting them all.
func merged(patches []Patch, parts []int) []Patch {
	byAddr := func(a, b Patch) int { return cmp.Compare(a.Addr, b.Addr) }
	var rest [][]Patch
	for i := range parts[1:] {
		if p := patches[parts[i]:parts[i+1]]; len(p) > 0 {
			if !slices.IsSortedFunc(p, byAddr) {
				slices.SortFunc(p, byAddr)
			}
			rest = append(rest, p)
		}
	}
	out := make([]Patch, 0, len(patches))
	for len(rest) > 0 {
		least := 0
		for i := range rest {
			if rest[i][0].Addr < rest[least][0].Addr {
				least = i
			}
		}
		out = append(out, rest[least][0])
		if rest[least] = rest[least][1:]; len(rest[least]) == 0 {
			rest = slices.Delete(rest, least, least+1)
		}
	}
	return out
}

// An emitter writes stubs.
type emitter struct {
	plan        *plan.Plan
	base, slide uint64
	out         []byte
	at          []uint64          // the stubs' addresses, by hook
	hosts       []int32           // by hook: the last entry hook, which is that of the function that the hook is in
	hosting     []bool            // by entry hook: its function has blocks
	led         map[uint64]uint64 // from a function's entry to the stub through which its calls are led
	direct      map[uint64]direct // by address of a direct call that has a mark, too
	unset       []unset
	patches     []Patch
	err         error
}

func (em *emitter) here() uint64 { return em.base + uint64(len(em.out)) }

func (em *emitter) bytes(b ...byte) { em.out = append(em.out, b...) }

// rel32 adds the distance of an address from the byte after the next four.
func (em *emitter) rel32(to uint64) {
	em.out = le.AppendUint32(em.out, em.distance(em.here()+4, to))
}

func (em *emitter) distance(from, to uint64) uint32 {
	d := int64(to - from)
	if d != int64(int32(d)) && em.err == nil {
		em.err = fmt.Errorf("code at %#x and %#x is too far apart for a jump: the stubs must be mapped nearer to the program's text", from, to)
	}
	return uint32(d)
}

// stub writes the stub of hook i.
func (em *emitter) stub(i int, h *plan.Hook, e Entries) {
	em.align(len(h.Code) + 16)
	em.at[i] = em.here()
	id := uint32(i + 1)
	if id >= Inside && em.err == nil {
		em.err = fmt.Errorf("%d hooks are too many", id)
	}
	if uint64(len(em.out)) > math.MaxInt32 && em.err == nil {
		em.err = fmt.Errorf("the stubs of %d hooks are too long", id)
	}
	switch h.Kind {
	case plan.CallSites:
		em.call(id, e.Enter)
		em.bytes(0xe9)
		em.rel32(h.Callee + em.slide)
		return
	case plan.Go:
		em.call(id|Inside, e.Go)
		em.bytes(0xe9)
		em.rel32(h.Callee + em.slide)
		return
	}
	em.displace(h.At, h.Code, 0, h.Before)
	if h.Kind == plan.Block {
		host := em.hosts[i]
		if n := uint32(i) - uint32(host); n <= math.MaxInt8 {
			em.bytes(0x6a, byte(n)) // push n
		} else {
			em.bytes(0x68)
			em.out = le.AppendUint32(em.out, n)
		}
		em.bytes(0xe8)
		if em.plan.Hooks[host].Kind == plan.Leaf && e.Bare != 0 {
			em.rel32(e.Bare)
		} else {
			em.rel32(e.Block)
		}
	} else if h.Kind == plan.Leaf && e.Leaf != 0 && !em.hosting[i] {
		em.call(id, e.Leaf)
	} else {
		em.call(id, e.Enter)
	}
	em.goOn(h)
}

// waypoint writes the stub of a waypoint and its patch.
func (em *emitter) waypoint(h *plan.Hook, way uint64) {
	em.align(len(h.Code) + 16)
	stub := em.here()
	em.displace(h.At, h.Code, 0, h.Before)
	em.call(uint32(h.Callee+em.slide), way)
	em.goOn(h)
	em.jump(h, stub)
}

// padding is a line of the processor's caches that nobody runs.
var padding = [64]byte(bytes.Repeat([]byte{x86.Int3}, 64))

// align has a stub of about so many bytes begin in a new line of the processor's
// caches if the one that has begun has no room for it: with hooks everywhere it is the
// lines that the processor has to get for them that cost most.
func (em *emitter) align(size int) {
	const line = len(padding)
	if in := len(em.out) % line; in+size > line && in > 0 {
		em.out = append(em.out, padding[in:]...)
	}
}

// call calls the recorder, with a number in R13D.
func (em *emitter) call(r13 uint32, entry uint64) {
	em.bytes(0x41, 0xbd) // mov r13d, n
	em.out = le.AppendUint32(em.out, r13)
	em.bytes(0xe8)
	em.rel32(entry)
}

// goOn writes what a stub does after the recorder was called.
func (em *emitter) goOn(h *plan.Hook) {
	falls := false
	if h.Ahead > 0 {
		em.displace(h.At, h.Code, h.Ahead, len(h.Code))
		falls = em.displace(h.At, h.Code, 0, h.Ahead)
	} else {
		falls = em.displace(h.At, h.Code, h.Before, len(h.Code))
	}
	if falls {
		em.bytes(0xe9)
		em.rel32(h.At + em.slide + uint64(len(h.Code)))
	}
}

// displace writes the displaced instructions from..to, so that they do here what
// they did there. It tells if control may reach what comes after them.
func (em *emitter) displace(at uint64, code []byte, from, to int) (falls bool) {
	falls = true
	for from < to {
		in, ok := x86.Decode(code, uint32(from))
		if !ok || !in.Is(x86.Movable) || int(in.End()) > to {
			em.damaged(at)
			return false
		}
		raw := code[from:in.End()]
		target := at + em.slide + uint64(in.Target)
		switch in.Flow {
		case x86.CondJump:
			em.bytes(0x0f, 0x80|raw[in.RelAt-1]&15)
			em.rel32(target)
		case x86.Jump:
			if stub, ok := em.led[target]; ok {
				target = stub
			}
			em.bytes(0xe9)
			em.rel32(target)
		default:
			start := len(em.out)
			end := em.here() + uint64(len(raw))
			em.bytes(raw...)
			if in.RelAt > 0 {
				le.PutUint32(em.out[start+int(in.RelAt):], em.distance(end, target))
			}
		}
		falls = in.Flow.Falls()
		from = int(in.End())
	}
	return falls
}

func (em *emitter) damaged(at uint64) {
	if em.err == nil {
		em.err = fmt.Errorf("the plan is damaged: no instructions at %#x", at)
	}
}

// redirect leads a call or jump to callee through a stub.
func (em *emitter) redirect(addr uint64, op byte, callee, stub uint64) {
	old := em.branch(addr, op, callee)
	em.patch(addr, old[:], op, stub)
}

// jump has the displaced instructions give way to a jump to the stub.
func (em *emitter) jump(h *plan.Hook, stub uint64) {
	old := [plan.JumpSize]byte{x86.Int3, x86.Int3, x86.Int3, x86.Int3, x86.Int3}
	copy(old[:], h.Code)
	em.patch(h.At+em.slide, old[:], 0xe9, stub)
}

func (em *emitter) patch(addr uint64, old []byte, op byte, stub uint64) {
	to := em.branch(addr, op, stub)
	em.patches = append(em.patches, NewPatch(addr, old, to[:]))
}

// branch returns a direct jump or call at an address.
func (em *emitter) branch(at uint64, op byte, to uint64) (b [plan.JumpSize]byte) {
	b[0] = op
	le.PutUint32(b[1:], em.distance(at+plan.JumpSize, to))
	return b
}

// StackNeed is how many bytes of stack below the stack pointer at a hook the
// stub and the recorder may use. A function without a stack check may be entered
// with little more than 800 bytes left, less what the functions without checks
// that called it have taken; those that are hooked take a few hundred at most.
const StackNeed = 256
