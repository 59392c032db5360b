package patch

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"sync/atomic"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
	"tracerag/trace/probe/patch/x86"
)

// This file holds the judge of the planner: it compares a program as it was with
// the program as it is after the patches, by walking both at once over all ways
// that control can take.
//
// A state is a pair of addresses, one in each program. Both programs run the
// instructions there, which must be the same: the same bytes but for
// displacements, and these must lead to the same absolute address. A direct jump
// has no effect but on the address, so both sides follow them silently; that takes
// care of the jumps to stubs and back. A call of the recorder in the patched
// program is followed silently, too, with what belongs to it, and noted. Then the
// pair moves on to the next instructions, and to the branches' targets. The
// programs are the same if no pair of a finite number differs.
//
// The walk begins at the function's entry, and at every call and return address,
// at which a thread may be set to go on by the runtime.
//
// Instructions are decoded with x86asm, not with the planner's decoder. VEX and
// EVEX, which x86asm gets wrong, are the planner's.
//
// Noted is also, from the recorder's call on, what it destroys: the flags, and at
// an entry R12, R13, R15. Nothing may read them before it sets them. And of an
// entry hook, that it is called once: on every way from the entry, and not again
// on the way. A function to which direct calls are led by stubs of their own begins at
// each of these stubs, too, where the recorder is called for a call instead.

// image is the memory of a program: bytes by address.
type image interface {
	at(addr uint64) []byte // from addr on, as many as there are
}

// stretches is an image made of separate pieces.
type stretches []stretch

type stretch struct {
	addr  uint64
	bytes []byte
}

func (s stretches) at(addr uint64) []byte {
	for _, p := range s {
		if addr >= p.addr && addr-p.addr < uint64(len(p.bytes)) {
			return p.bytes[addr-p.addr:]
		}
	}
	return nil
}

// with returns the image with patches applied.
func (s stretches) with(patches []stubs.Patch) (stretches, error) {
	out := make(stretches, len(s))
	for i, p := range s {
		out[i] = stretch{p.addr, slices.Clone(p.bytes)}
	}
	for _, p := range patches {
		b := out.at(p.Addr)
		if len(b) < len(p.New()) {
			return nil, fmt.Errorf("patch of %d bytes at %#x is not inside the code", len(p.New()), p.Addr)
		}
		if !bytes.Equal(b[:len(p.Old())], p.Old()) {
			return nil, fmt.Errorf("patch at %#x expects % x and finds % x", p.Addr, p.Old(), b[:len(p.Old())])
		}
		copy(b, p.New())
	}
	return out, nil
}

// judge compares one function in two programs.
type judge struct {
	plain, patched image
	entry, end     uint64 // of the function
	stubs          [2]uint64
	entries        stubs.Entries
	targets        []uint64          // where jumps through tables may lead
	slide          uint64            // to be added to addresses in the data
	hook           uint32            // ID of the entry hook, 0: none, or one at its calls
	inside         map[uint32]bool   // blocks, by their place among the function's hooks
	bare           bool              // the function has no frame
	leads          map[uint32]uint64 // from R13D in the stubs of CallSites and Go to the function called
	noReturn       map[uint64]bool   // functions that panic
	more           map[uint64]bool   // runtime.morestack: nothing calls it behind the check
	marks          []plan.BlockMark
	calls          map[uint64]ledCall // by the call's address
	first          map[uint64]error   // what came of the first-time parts that were run
	gone           *atomic.Int64      // counts those that give the code back, if not nil
	tamper         func(stubs []byte) // changes them, if not nil
	thorough       bool               // first times are run in more ways
	strict         bool               // compiled code: registers that mean nothing at an entry are not read there
}

// state is a pair of addresses and what is known there.
type state struct {
	plain, patched uint64
	counted        bool   // the function's own hook was called
	call           uint32 // the number of the direct call that this is, 0: none, or it was counted
	midway         bool   // the walk began somewhere else than at the entry: not known
	framed         bool   // the stack pointer is not known to be at the return address
	noClosure      bool   // RDX is not known to be the closure that was called
	spoilt         spoils
}

// spoils are what the recorder destroyed and nothing has set since.
type spoils uint8

const (
	spoiltCF spoils = 1 << iota
	spoiltPF
	spoiltZF
	spoiltSF
	spoiltOF
	spoilt12
	spoilt13
	spoilt15
	spoiltFlags = spoiltCF | spoiltPF | spoiltZF | spoiltSF | spoiltOF
)

type operation struct {
	inst  x86asm.Inst
	size  int
	known bool   // x86asm knows it
	text  string // the same for the same operation at any address
	to    uint64 // of a direct branch
}

const (
	maxStates = 200000
	maxJumps  = 32
)

// read decodes the operation at an address.
func read(m image, addr uint64) (operation, error) {
	p := m.at(addr)
	if len(p) == 0 {
		return operation{}, fmt.Errorf("no code at %#x", addr)
	}
	if len(p) > x86.MaxInst {
		p = p[:x86.MaxInst]
	}
	if vector(p) {
		in, ok := x86.Decode(p, 0)
		if !ok {
			return operation{}, fmt.Errorf("% x at %#x is no instruction", p, addr)
		}
		b := bytes.Clone(p[:in.Size])
		text := ""
		if in.RelAt > 0 {
			text = fmt.Sprintf(" %#x", addr+uint64(in.Target))
			clear(b[in.RelAt : in.RelAt+4])
		}
		return operation{size: int(in.Size), text: fmt.Sprintf("% x", b) + text}, nil
	}
	x, err := x86asm.Decode(p, 64)
	if err != nil {
		return operation{}, fmt.Errorf("% x at %#x: %w", p, addr, err)
	}
	op := operation{inst: x, size: x.Len, known: true}
	if rel, ok := x.Args[0].(x86asm.Rel); ok {
		op.to = addr + uint64(x.Len) + uint64(int64(rel))
		op.text = fmt.Sprintf("%v %#x", x.Op, op.to)
		return op, nil
	}
	b := bytes.Clone(p[:x.Len])
	if x.PCRel == 4 {
		to := addr + uint64(x.Len) + uint64(int64(int32(le.Uint32(b[x.PCRelOff:]))))
		clear(b[x.PCRelOff : x.PCRelOff+4])
		op.text = fmt.Sprintf("% x %#x", b, to)
	} else {
		op.text = fmt.Sprintf("% x", b)
	}
	return op, nil
}

// inStubs tells if an address is in the stubs.
func (j *judge) inStubs(addr uint64) bool { return addr >= j.stubs[0] && addr < j.stubs[1] }

// skip follows direct jumps, and on the patched side calls of the recorder.
func (j *judge) skip(s *state, notes *[]uint32) error {
	way := []uint64{s.plain}
	for n := 0; ; n++ {
		op, err := read(j.plain, s.plain)
		if err != nil {
			break // the function was left
		}
		if n == maxJumps || op.inst.Op != x86asm.JMP || op.to == 0 || !j.inside64(s.plain) {
			break
		}
		s.plain = op.to
		way = append(way, s.plain)
	}
	for range maxJumps {
		op, err := read(j.patched, s.patched)
		if err != nil {
			return nil
		}
		switch {
		case op.inst.Op == x86asm.JMP && op.to != 0 && (j.inStubs(s.patched) || j.inside64(s.patched)):
			s.patched = op.to
		case j.inStubs(s.patched):
			n, id, err := j.mark(s.patched, way...)
			if err == nil && n == 0 {
				n, id, err = j.recorder(s.patched)
			}
			if err != nil {
				return err
			}
			if n == 0 {
				return nil
			}
			s.patched += uint64(n)
			*notes = append(*notes, id)
		default:
			return nil
		}
	}
	return nil
}

func (j *judge) inside64(addr uint64) bool { return addr >= j.entry && addr < j.end }

// block is the bit that the judge adds to the number of a block, and call what it adds
// to the number of a direct call.
const (
	block = 1 << 31
	call  = block | stubs.Inside
)

// wayNote is what the judge has for the number of a waypoint, which is its address.
const wayNote = stubs.Inside - 1

// recorder recognises the call of the recorder at a stub's address: its length
// and the number that is in R13D or, of a block, pushed, or 0.
func (j *judge) recorder(addr uint64) (n int, id uint32, err error) {
	p := j.patched.at(addr)
	pushed := true
	switch {
	case len(p) >= 2 && p[0] == 0x6a:
		n, id = 2, uint32(int32(int8(p[1])))
	case len(p) >= 5 && p[0] == 0x68:
		n, id = 5, le.Uint32(p[1:])
	case len(p) >= 6 && p[0] == 0x41 && p[1] == 0xbd:
		n, id, pushed = 6, le.Uint32(p[2:]), false
	}
	if n == 0 || len(p) < n+5 || p[n] != 0xe8 {
		return 0, 0, nil
	}
	to := addr + uint64(n) + 5 + uint64(int64(int32(le.Uint32(p[n+1:]))))
	n += 5
	want := j.entries.Enter
	switch {
	case pushed:
		if id == 0 || id >= stubs.Inside {
			return 0, 0, fmt.Errorf("the stub at %#x says that it is of block %d", addr, id)
		}
		id |= block
		want = j.entries.Block
		if j.bare {
			want = j.entries.Bare
		}
	case to == j.entries.Way:
		if id != uint32(j.entry) {
			return 0, 0, fmt.Errorf("the stub of the waypoint at %#x says that it is at %#x", j.entry, id)
		}
		return n, wayNote, nil
	case to == j.entries.Call:
		if id == 0 || id >= stubs.Inside {
			return 0, 0, fmt.Errorf("the stub at %#x says that it is of call %d", addr, id)
		}
		return n, id | call, nil
	case id&stubs.Inside != 0:
		want = j.entries.Go
	}
	if to != want {
		return 0, 0, fmt.Errorf("the stub at %#x calls %#x, not the recorder at %#x", addr, to, want)
	}
	return n, id, nil
}

// judge walks both programs. The error is the first difference.
func (j *judge) judge() error {
	begin := []state{{plain: j.entry, patched: j.entry, counted: j.hook == 0}}
	for site, c := range j.calls {
		if c.callee != j.entry {
			continue
		}
		stub, err := j.callStub(site, c)
		if err != nil {
			return fmt.Errorf("the call at %#x: %w", site, err)
		}
		begin = append(begin, state{plain: j.entry, patched: stub, call: c.number})
	}
	// Addresses that the runtime knows: calls and what comes behind them.
	for addr := j.entry; addr < j.end; {
		op, err := read(j.plain, addr)
		if err != nil {
			break
		}
		next := addr + uint64(op.size)
		if op.known && op.inst.Op == x86asm.CALL {
			begin = append(begin, state{plain: addr, patched: addr, counted: true, midway: true, framed: true, noClosure: true})
			if next < j.end {
				begin = append(begin, state{plain: next, patched: next, counted: true, midway: true, framed: true, noClosure: true})
			}
		}
		addr = next
	}
	seen := map[state]bool{}
	work := begin
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		if len(seen) > maxStates {
			return fmt.Errorf("more than %d states", maxStates)
		}
		next, err := j.step(s)
		if err != nil {
			return fmt.Errorf("original %#x, patched %#x: %w", s.plain, s.patched, err)
		}
		work = append(work, next...)
	}
	return nil
}

// step runs one operation of both programs.
func (j *judge) step(s state) (next []state, err error) {
	var notes []uint32
	from := s
	if err := j.skip(&s, &notes); err != nil {
		return nil, err
	}
	for _, id := range notes {
		if id == markKept {
			continue
		}
		s.spoilt |= spoiltFlags
		switch {
		case id == markSpoils:
		case id&call == call:
			if id&^call != s.call {
				return nil, fmt.Errorf("call %d is counted here, not call %d", id&^call, s.call)
			}
			s.counted, s.call = true, 0
			s.spoilt |= spoilt12 | spoilt13 | spoilt15
		case id&block != 0:
			if !j.inside[id&^block] {
				return nil, fmt.Errorf("the hook of block %d is called here", id&^block)
			}
		case id&stubs.Inside != 0:
			return nil, fmt.Errorf("hook %d is called here", id&^stubs.Inside)
		case id == j.hook:
			if s.counted && !s.midway || s.call != 0 {
				return nil, fmt.Errorf("the entry's hook is called again")
			}
			s.counted = true
			s.spoilt |= spoilt12 | spoilt13 | spoilt15
			if !j.strict && s.plain == j.entry {
				s.spoilt = 0 // compiled code reads nothing there that a caller does not set
			}
		default:
			// A tail call that is led through a stub.
			if j.inside64(s.plain) {
				return nil, fmt.Errorf("hook %d is called here", id)
			}
		}
	}
	if !j.inside64(s.plain) {
		// A tail call, or the end of the code.
		if s.plain != s.patched {
			return nil, fmt.Errorf("control leaves for %#x, in the original for %#x", s.patched, s.plain)
		}
		if !s.counted {
			return nil, fmt.Errorf("the function is left without its hook being called")
		}
		return nil, nil
	}
	op, err := read(j.plain, s.plain)
	if err != nil {
		// Bytes that are no instruction, which both run into, or neither.
		if s.plain != s.patched {
			return nil, err
		}
		return nil, nil
	}
	if op.known && op.inst.Op == x86asm.INT && s.plain == s.patched {
		return nil, nil // padding
	}
	got, err := read(j.patched, s.patched)
	if err != nil {
		return nil, err
	}
	if op.inst.Op == x86asm.JMP && op.to != 0 && got.inst.Op == x86asm.JMP && got.to != 0 {
		// A loop of jumps on both sides: they do the same, nothing.
		if s.plain == from.plain && s.patched == from.patched || j.jumpsOnly(s.plain, j.plain) && j.jumpsOnly(s.patched, j.patched) {
			return nil, nil
		}
	}
	if op.inst.Op == x86asm.CALL && got.inst.Op == x86asm.CALL && op.to != got.to && got.to != 0 {
		if err := j.led(s, op, got); err != nil {
			return nil, err
		}
	} else if op.to != 0 && op.inst.Op == got.inst.Op && j.inStubs(got.to) {
		// A branch that is led through a mark's stub: what that does comes next.
	} else if got.text != op.text {
		return j.ahead(s, op, got)
	}
	if s.spoilt, err = spoil(op, s.spoilt, j.strict); err != nil {
		return nil, err
	}
	if err := j.memory(&s, op); err != nil {
		return nil, err
	}
	return j.after(s, op, got)
}

// tables returns the addresses in the function that are in data whose address
// is taken in it: where jumps through tables may lead.
func (j *judge) tables(data image) []uint64 {
	var out []uint64
	for addr := j.entry; addr < j.end; {
		op, err := read(j.plain, addr)
		if err != nil {
			break
		}
		addr += uint64(op.size)
		if op.inst.Op != x86asm.LEA || op.inst.PCRel != 4 {
			continue
		}
		m := op.inst.Args[1].(x86asm.Mem)
		d := data.at(addr + uint64(m.Disp))
		for ; len(d) >= 8 && j.inside64(le.Uint64(d)+j.slide) && le.Uint64(d)+j.slide != j.entry; d = d[8:] {
			out = append(out, le.Uint64(d)+j.slide)
		}
	}
	return out
}

// disjoint makes sure that no two patches share a byte.
func disjoint(patches []stubs.Patch) error {
	if !sort.SliceIsSorted(patches, func(i, j int) bool { return patches[i].Addr < patches[j].Addr }) {
		return fmt.Errorf("the patches are not sorted")
	}
	for i := 1; i < len(patches); i++ {
		if p := patches[i-1]; p.End() > patches[i].Addr {
			return fmt.Errorf("patches at %#x and %#x overlap", p.Addr, patches[i].Addr)
		}
	}
	return nil
}
