package patch

import (
	"fmt"
	"iter"

	"tracerag/trace/executable"
)

// Displaced returns all code of the program that the plan moves, copies or replaces:
// run-time addresses, where the program was loaded slide bytes from its link-time
// addresses, and what has to be there. The stubs do what this code does. If anything
// else is there the program is not the one that was planned for, and nothing of it
// must be changed.
func (p *Plan) Displaced(slide uint64) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		for _, hooks := range [][]Hook{p.Hooks, p.Waypoints} {
			for i := range hooks {
				if !hooks[i].displaced(slide, yield) {
					return
				}
			}
		}
		for i := range p.Calls {
			c := &p.Calls[i]
			h := &p.Hooks[c.Callee]
			if !yield(c.At+slide, direct5(0xe8, c.At, h.At-uint64(len(h.lead)))) {
				return
			}
		}
		for i := range p.Marks {
			m := &p.Marks[i]
			if !yield(m.At+slide, withPadding(m.code)) {
				return
			}
		}
	}
}

func (h *Hook) displaced(slide uint64, yield func(uint64, []byte) bool) bool {
	switch h.Kind {
	case CallSites:
		for k, s := range h.Sites {
			if !yield(s+slide, direct5(h.code[k], s, h.callee)) {
				return false
			}
		}
		return true
	case Go:
		return yield(h.At+slide, direct5(h.code[0], h.At, h.callee))
	}
	// Stubs of direct calls have the code before the hook, too.
	if len(h.lead) > 0 && !yield(h.At-uint64(len(h.lead))+slide, h.lead) {
		return false
	}
	return yield(h.At+slide, withPadding(h.code))
}

// withPadding is the code that a jump takes the place of, with what is behind it.
func withPadding(code []byte) []byte {
	for len(code) < jumpSize {
		code = append(code[:len(code):len(code)], int3)
	}
	return code
}

// direct5 is a direct call or jump.
func direct5(op byte, at, to uint64) []byte {
	return le.AppendUint32([]byte{op}, uint32(to-at-jumpSize))
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
		if h := &p.Hooks[call.Callee]; c.err == nil && !ledTo(h) {
			c.fail("call", call.At)
		}
		if c.err == nil {
			c.code("call", p.Hooks[call.Host].Func, call.At, jumpSize)
		}
	}
	for i := range p.Marks {
		m := &p.Marks[i]
		c.code("mark", m.Func, m.At, len(m.code))
		c.code("block", m.Func, m.Block, 1)
	}
	for i := range p.Waypoints {
		c.hook(&p.Waypoints[i])
		c.entry(p.Waypoints[i].Func, p.Waypoints[i].callee)
	}
	return c.err
}

type fitter struct {
	f   *executable.File
	err error
}

func (c *fitter) fail(what string, at uint64) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s at %#x", errDamaged, what, at)
	}
}

func (c *fitter) function(i int) *executable.Func {
	if i < 0 || i >= len(c.f.Funcs) {
		if c.err == nil {
			c.err = fmt.Errorf("%w: function %d of %d", errDamaged, i, len(c.f.Funcs))
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
		c.entry(h.Func, h.callee)
		for _, s := range h.Sites {
			if in := c.f.Func(s); in == nil || in.End-s < jumpSize {
				c.fail("call", s)
			}
		}
	case Go:
		c.code(h.Kind.String(), h.Func, h.At, jumpSize)
		if fn := c.f.Func(h.callee); fn == nil || fn.Entry != h.callee {
			c.fail("function", h.callee)
		}
	default:
		c.code(h.Kind.String(), h.Func, h.At, len(h.code))
		if len(h.lead) > mostLead {
			c.fail("code before the hook", h.At)
		} else if h.lead != nil {
			c.entry(h.Func, h.At-uint64(len(h.lead)))
		}
	}
}
