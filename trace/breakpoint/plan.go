package breakpoint

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tracerag/trace"
	"tracerag/trace/executable"
)

// arm plans the breakpoints and sets them.
func (r *recording) arm(ctx context.Context) error {
	r.plan()
	addrs := make([]uint64, 0, len(r.points))
	for a := range r.points {
		addrs = append(addrs, a)
	}
	slices.Sort(addrs)
	for i, a := range addrs {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.o.Progress(i, len(addrs))
		}
		if err := r.set(a); err != nil {
			return fmt.Errorf("%#x: %w", a, err)
		}
	}
	return nil
}

// plan chooses where the breakpoints are.
func (r *recording) plan() {
	byKey := map[string]*watched{}
	watch := func(name string, line int, addr uint64) *watched {
		key := fmt.Sprintf("%s:%d", name, line)
		fn := byKey[key]
		if fn == nil {
			fn = &watched{name: name}
			byKey[key] = fn
			r.funcs = append(r.funcs, fn)
		}
		fn.addrs = append(fn.addrs, addr)
		return fn
	}
	at := func(addr uint64, sp int64) *point {
		p := r.points[addr]
		if p == nil {
			p = &point{sp: sp}
			r.points[addr] = p
		}
		return p
	}
	bin := r.t.Binary
	code := codeReader{mem: r.tgt.Memory(), slide: r.slide}
	for i := range bin.Funcs {
		fn := &bin.Funcs[i]
		if !r.t.Records(fn.Package) || fn.Wrapper {
			continue
		}
		if checksItself(fn.Package) {
			r.tr.Losses = append(r.tr.Losses, trace.Loss{Kind: trace.LossNotHooked, Function: fn.Name, Detail: "cryptography that checks its own code (FIPS 140)"})
			continue
		}
		if fn.Asm {
			r.tr.Losses = append(r.tr.Losses, trace.Loss{Kind: trace.LossNotHooked, Function: fn.Name, Detail: "assembly"})
			continue
		}
		addr := afterStackCheck(bin.GOARCH, code.read(fn), fn.Entry)
		if fn.Name == "main.main" {
			r.main = addr
		} else if r.quiet {
			if addr = behind(code.all(fn), fn.Entry, addr); addr == 0 {
				r.tr.Losses = append(r.tr.Losses, trace.Loss{Kind: trace.LossNotHooked, Function: fn.Name, Detail: whyUntouched})
				continue
			}
		}
		p := at(addr, bin.StackDepth(addr))
		p.begins = append(p.begins, activation{fn: watch(fn.Name, fn.StartLine, addr), frames: r.own(fn)})
	}
	if r.o.NoInlined {
		return
	}
	inlined := r.inlined()
	if n := len(r.points) + len(inlined); n > maxInlinedPoints {
		r.tr.Losses = append(r.tr.Losses, trace.Loss{Kind: trace.LossNotHooked, Count: int64(len(inlined)),
			Detail: fmt.Sprintf("inlined calls: the program is too large to watch them with breakpoints (%d of %d); they show where they call something", n, maxInlinedPoints)})
		return
	}
	for _, in := range inlined {
		p := at(in.addr, bin.StackDepth(in.addr))
		p.begins = append(p.begins, activation{fn: watch(in.call.Name, in.call.StartLine, in.addr), frames: in.frames, inline: true})
	}
}

// own is the logical frame of a function that is entered.
func (r *recording) own(fn *executable.Func) []frame {
	return []frame{r.frame(fn.Name, fn.Package, fn.File, fn.StartLine, fn.StartLine, false, false)}
}

type inlinedPoint struct {
	addr   uint64
	call   executable.InlinedCall
	frames []frame
}

// inlined lists the inlined calls of recorded functions, by address and, where
// several begin at the same one, callers before callees.
func (r *recording) inlined() []inlinedPoint {
	var out []inlinedPoint
	bin := r.t.Binary
	for i := range bin.Funcs {
		fn := &bin.Funcs[i]
		if fn.Package == "" || !r.t.Records(fn.Package) && bin.Std(fn.Package) {
			// The standard library inlines nothing of ours but through
			// generics, whose instantiations have our package's name.
			continue
		}
		if checksItself(fn.Package) {
			continue
		}
		calls := bin.Inlined(fn)
		for _, c := range calls {
			if !r.t.Records(c.Package) || len(c.Ranges) == 0 || r.quiet && c.Ranges[0][0] < fn.Entry+untouched {
				continue
			}
			// The body's frames: the call itself, the inlined calls around
			// it, and the function that has the code.
			frames := []frame{r.frame(c.Name, c.Package, c.File, c.StartLine, c.StartLine, true, false)}
			line := c.CallLine
			for p := c.Parent; p >= 0; p = calls[p].Parent {
				up := calls[p]
				frames = append(frames, r.frame(up.Name, up.Package, up.File, up.StartLine, line, true, false))
				line = up.CallLine
			}
			frames = append(frames, r.frame(fn.Name, fn.Package, fn.File, fn.StartLine, line, false, fn.Wrapper))
			out = append(out, inlinedPoint{addr: c.Ranges[0][0], call: c, frames: frames})
		}
	}
	slices.SortStableFunc(out, func(a, b inlinedPoint) int {
		if a.addr != b.addr {
			return cmp.Compare(a.addr, b.addr)
		}
		return len(a.frames) - len(b.frames)
	})
	return out
}
