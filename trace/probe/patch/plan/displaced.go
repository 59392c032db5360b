package plan

import (
	"fmt"
	"iter"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/x86"
)

// Displaced returns all code of the program that the plan moves, copies or replaces:
// run-time addresses, where the program was loaded slide bytes from its link-time
// addresses, and what has to be there. The stubs do what this code does. If anything
// else is there the program is not the one that was planned for, and nothing of it
// must be changed. The bytes are valid until the next ones.
func (p *Plan) Displaced(slide uint64) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		var room [JumpSize]byte
		for _, hooks := range [][]Hook{p.Hooks, p.Waypoints} {
			for i := range hooks {
				if !hooks[i].displaced(slide, room[:], yield) {
					return
				}
			}
		}
		for i := range p.Calls {
			c := &p.Calls[i]
			h := &p.Hooks[c.Callee]
			if !yield(c.At+slide, direct5(room[:], 0xe8, c.At, h.At-uint64(len(h.Lead)))) {
				return
			}
		}
		for i := range p.Marks {
			m := &p.Marks[i]
			if !yield(m.At+slide, withPadding(room[:], m.Code)) {
				return
			}
		}
	}
}

func (h *Hook) displaced(slide uint64, room []byte, yield func(uint64, []byte) bool) bool {
	switch h.Kind {
	case CallSites:
		for k, s := range h.Sites {
			if !yield(s+slide, direct5(room, h.Code[k], s, h.Callee)) {
				return false
			}
		}
		return true
	case Go:
		return yield(h.At+slide, direct5(room, h.Code[0], h.At, h.Callee))
	}
	// Stubs of direct calls have the code before the hook, too.
	if len(h.Lead) > 0 && !yield(h.At-uint64(len(h.Lead))+slide, h.Lead) {
		return false
	}
	return yield(h.At+slide, withPadding(room, h.Code))
}

// withPadding is the code that a jump takes the place of, with what is behind it.
func withPadding(room, code []byte) []byte {
	if len(code) >= JumpSize {
		return code
	}
	for i := copy(room, code); i < len(room); i++ {
		room[i] = x86.Int3
	}
	return room
}

// direct5 is a direct call or jump.
func direct5(room []byte, op byte, at, to uint64) []byte {
	room[0] = op
	le.PutUint32(room[1:], uint32(to-at-JumpSize))
	return room
}

// Bounds of what the planner displaces. No instruction is longer than 15 bytes.
const (
	mostDisplaced = 64
	mostLead      = 64
)

// Fits reports what is wrong with a plan that was read from a file, for the program
// it is to be used with: places that are not in the functions that it names. Whether
// the code there is the plan's, only the process can tell: see Displaced.
func (p *Plan) Fits(f *executable.File) error {
	c := fitter{f: f}
	for i := range p.Hooks {
		c.hook(&p.Hooks[i])
	}
	for _, u := range p.Unhooked {
		c.function(u.Func)
	}
	for _, m := range p.Missed {
		c.function(m.Func)
	}
	for i := range p.Calls {
		call := &p.Calls[i]
		if h := &p.Hooks[call.Callee]; c.err == nil && !h.LedTo() {
			c.fail("call", call.At)
		}
		if c.err == nil {
			c.code("call", p.Hooks[call.Host].Func, call.At, JumpSize)
		}
	}
	for i := range p.Marks {
		m := &p.Marks[i]
		c.code("mark", m.Func, m.At, len(m.Code))
		c.code("block", m.Func, m.Block, 1)
	}
	for i := range p.Waypoints {
		c.hook(&p.Waypoints[i])
		c.entry(p.Waypoints[i].Func, p.Waypoints[i].Callee)
	}
	return c.err
}

type fitter struct {
	f   *executable.File
	err error
}

func (c *fitter) fail(what string, at uint64) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s at %#x", ErrDamaged, what, at)
	}
}

func (c *fitter) function(i int) *executable.Func {
	if i < 0 || i >= len(c.f.Funcs) {
		if c.err == nil {
			c.err = fmt.Errorf("%w: function %d of %d", ErrDamaged, i, len(c.f.Funcs))
		}
		return &executable.Func{}
	}
	return &c.f.Funcs[i]
}

// code requires that bytes belong to a function.
func (c *fitter) code(what string, fn int, at uint64, size int) {
	in := c.function(fn)
	if size > mostDisplaced || at < in.Entry || at >= in.End || uint64(size) > in.End-at {
		c.fail(what, at)
	}
}

// entry requires that a function begins at an address.
func (c *fitter) entry(fn int, at uint64) {
	if c.function(fn).Entry != at {
		c.fail("function", at)
	}
}

func (c *fitter) hook(h *Hook) {
	switch h.Kind {
	case CallSites:
		c.entry(h.Func, h.Callee)
		for _, s := range h.Sites {
			if in := c.f.Func(s); in == nil || in.End-s < JumpSize {
				c.fail("call", s)
			}
		}
	case Go:
		c.code(h.Kind.String(), h.Func, h.At, JumpSize)
		if fn := c.f.Func(h.Callee); fn == nil || fn.Entry != h.Callee {
			c.fail("function", h.Callee)
		}
	default:
		c.code(h.Kind.String(), h.Func, h.At, len(h.Code))
		if len(h.Lead) > mostLead {
			c.fail("code before the hook", h.At)
		} else if h.Lead != nil {
			c.entry(h.Func, h.At-uint64(len(h.Lead)))
		}
	}
}
