package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// An encoded plan is
//
//	the magic string, which holds the version
//	the reasons: their number, and each with its length
//	the hooks, the functions and the inlined calls without one: their number, and
//	each as a few numbers; functions and addresses are differences from the last
//	the marks and the waypoints, likewise
//	the SHA-256 of all that
//
// where numbers are varints, signed where they may be negative. A kilobyte holds
// about 50 hooks.

// Encoding changes whenever plans made before must not be used any more: with
// their form, and with what the planner does.
const Encoding = "tracerag plan 6\n"

// Encode writes the plan so that Decode reads it.
func (p *Plan) Encode() []byte {
	e := encoder{out: append(make([]byte, 0, 64+24*len(p.Hooks)), Encoding...), reasons: map[string]uint64{}}
	e.collect(p)
	e.number(uint64(len(p.Hooks)))
	for i := range p.Hooks {
		e.hook(&p.Hooks[i])
	}
	e.fn = 0
	e.number(uint64(len(p.Unhooked)))
	for _, u := range p.Unhooked {
		e.function(u.Func)
		e.number(e.reasons[u.Why])
	}
	e.fn = 0
	e.number(uint64(len(p.Missed)))
	for _, m := range p.Missed {
		e.function(m.Func)
		e.number(uint64(m.Call))
		e.number(e.reasons[m.Why])
	}
	e.calls(p.Calls)
	e.marks(p.Marks)
	e.fn = 0
	e.number(uint64(len(p.Waypoints)))
	for i := range p.Waypoints {
		e.hook(&p.Waypoints[i])
		e.address(p.Waypoints[i].Callee)
	}
	sum := sha256.Sum256(e.out)
	return append(e.out, sum[:]...)
}

type encoder struct {
	out     []byte
	reasons map[string]uint64
	fn      int    // of the last entry
	addr    uint64 // last address
}

// collect numbers the reasons and writes them.
func (e *encoder) collect(p *Plan) {
	var all []string
	add := func(why string) {
		if _, ok := e.reasons[why]; !ok {
			e.reasons[why] = uint64(len(all))
			all = append(all, why)
		}
	}
	for _, u := range p.Unhooked {
		add(u.Why)
	}
	for _, m := range p.Missed {
		add(m.Why)
	}
	e.number(uint64(len(all)))
	for _, why := range all {
		e.bytes([]byte(why))
	}
}

func (e *encoder) number(v uint64) { e.out = binary.AppendUvarint(e.out, v) }

func (e *encoder) bytes(b []byte) {
	e.number(uint64(len(b)))
	e.out = append(e.out, b...)
}

func (e *encoder) function(i int) {
	e.number(uint64(i - e.fn)) // they are sorted
	e.fn = i
}

func (e *encoder) address(a uint64) {
	e.out = binary.AppendVarint(e.out, int64(a-e.addr))
	e.addr = a
}

// Flags of an encoded hook, above its kind.
const (
	flagApproximate = 0x10 << iota
	flagPartial
	flagMayFault
	flagBegins
)

func (e *encoder) hook(h *Hook) {
	head := byte(h.Kind)
	for _, f := range []struct {
		set bool
		bit byte
	}{{h.Approximate, flagApproximate}, {h.Partial, flagPartial}, {h.MayFault, flagMayFault}, {len(h.Begins) > 0, flagBegins}} {
		if f.set {
			head |= f.bit
		}
	}
	e.out = append(e.out, head)
	e.function(h.Func)
	if len(h.Begins) > 0 {
		e.number(uint64(len(h.Begins)))
		for _, b := range h.Begins {
			e.number(uint64(b))
		}
	}
	if h.Kind == CallSites {
		e.number(uint64(len(h.Sites)))
		for _, s := range h.Sites {
			e.address(s)
		}
	} else {
		e.address(h.At)
	}
	e.bytes(h.Code)
	if h.Kind == Check {
		e.bytes(h.Lead)
	}
	switch h.Kind {
	case CallSites, Go:
		e.address(h.Callee)
	default:
		e.number(uint64(h.Before))
		e.number(uint64(h.Ahead))
	}
}

// Decode reads what Encode wrote. Anything else, and what another version of this
// package wrote, is an error: make the plan anew.
func Decode(b []byte) (*Plan, error) {
	if !bytes.HasPrefix(b, []byte(Encoding)) {
		return nil, errors.New("the plan was made by another version of this program, or is not a plan")
	}
	n := len(b) - sha256.Size
	if n < len(Encoding) {
		return nil, ErrDamaged
	}
	if sum := sha256.Sum256(b[:n]); !bytes.Equal(sum[:], b[n:]) {
		return nil, ErrDamaged
	}
	d := planDecoder{in: b[len(Encoding):n]}
	p, err := d.plan()
	if err != nil {
		return nil, err
	}
	return p, nil
}

var ErrDamaged = errors.New("the plan is damaged")

// A planDecoder reads the numbers of a plan. After the first error they are 0.
type planDecoder struct {
	in   []byte
	err  error
	fn   int
	addr uint64
}

func (d *planDecoder) plan() (*Plan, error) {
	p := &Plan{}
	reasons := make([]string, d.count(1))
	for i := range reasons {
		reasons[i] = string(d.bytes())
	}
	reason := func() string {
		v := d.number()
		if v >= uint64(len(reasons)) {
			d.fail()
			return ""
		}
		return reasons[v]
	}
	if n := d.count(hookBytes); n > 0 {
		p.Hooks = make([]Hook, n)
	}
	for i := range p.Hooks {
		d.hook(&p.Hooks[i])
	}
	d.fn = 0
	if n := d.count(2); n > 0 {
		p.Unhooked = make([]Unhooked, n)
	}
	for i := range p.Unhooked {
		p.Unhooked[i] = Unhooked{d.function(), reason()}
	}
	d.fn = 0
	if n := d.count(3); n > 0 {
		p.Missed = make([]Missed, n)
	}
	for i := range p.Missed {
		p.Missed[i] = Missed{d.function(), int(d.number()), reason()}
	}
	p.Calls = d.calls(p.Hooks)
	p.Marks = d.marks()
	d.fn = 0
	if n := d.count(hookBytes + 1); n > 0 {
		p.Waypoints = make([]Hook, n)
	}
	for i := range p.Waypoints {
		h := &p.Waypoints[i]
		d.hook(h)
		if h.Callee = d.address(); h.Kind != Check && h.Kind != Frame {
			d.fail()
		}
	}
	if len(d.in) > 0 {
		d.fail()
	}
	return p, d.err
}

func (d *planDecoder) fail() {
	if d.err == nil {
		d.err = fmt.Errorf("%w although its checksum is right", ErrDamaged)
	}
	d.in = nil
}

func (d *planDecoder) number() uint64 {
	v, n := binary.Uvarint(d.in)
	if n <= 0 || v > 1<<48 {
		d.fail()
		return 0
	}
	d.in = d.in[n:]
	return v
}

// hookBytes is the least that a hook takes: its kind, function, address, code with its
// length, and the callee. What is decoded takes some 25 times as much memory.
const hookBytes = 6

// count reads the number of things that take at least size bytes each.
func (d *planDecoder) count(size int) int {
	v := d.number()
	if v > uint64(len(d.in)/size) {
		d.fail()
		return 0
	}
	return int(v)
}

func (d *planDecoder) bytes() []byte {
	n := d.count(1)
	b := d.in[:n:n]
	d.in = d.in[n:]
	return b
}

func (d *planDecoder) function() int {
	d.fn += int(d.number())
	return d.fn
}

func (d *planDecoder) address() uint64 {
	v, n := binary.Varint(d.in)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.in = d.in[n:]
	d.addr += uint64(v)
	return d.addr
}

func (d *planDecoder) hook(h *Hook) {
	if len(d.in) == 0 {
		d.fail()
		return
	}
	head := d.in[0]
	d.in = d.in[1:]
	h.Kind = Kind(head & 0x0f)
	h.Approximate = head&flagApproximate != 0
	h.Partial = head&flagPartial != 0
	h.MayFault = head&flagMayFault != 0
	h.Func = d.function()
	if head&flagBegins != 0 {
		h.Begins = make([]int, d.count(1))
		for i := range h.Begins {
			h.Begins[i] = int(d.number())
		}
	}
	if h.Kind == CallSites {
		h.Sites = make([]uint64, d.count(1))
		for i := range h.Sites {
			h.Sites[i] = d.address()
		}
	} else {
		h.At = d.address()
	}
	h.Code = d.bytes()
	if h.Kind == Check {
		if h.Lead = d.bytes(); len(h.Lead) == 0 {
			h.Lead = nil
		}
	}
	ok := true
	switch h.Kind {
	case CallSites:
		h.Callee = d.address()
		ok = len(h.Code) == len(h.Sites) && len(h.Code) > 0
	case Go:
		h.Callee = d.address()
		ok = len(h.Code) == 1
	case Check, Frame, Leaf, Block:
		h.Before, h.Ahead = int(d.number()), int(d.number())
		ok = len(h.Code) > 0 && h.Before <= len(h.Code) && h.Ahead < len(h.Code) && (h.Before == 0 || h.Ahead == 0)
	default:
		ok = false
	}
	if !ok {
		d.fail()
	}
}
