package patch

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
)

// TestMutated changes bytes of real functions at random, and plans hooks for what
// comes out: code that looks like the compiler's, and has branches to the wrong
// places, and instructions that were others.
func TestMutated(t *testing.T) {
	f, c := patchtest.Open(t, "tablecat")
	m := newMaker(f, c, func(pkg string) bool { return true }, Options{Inlined: true})
	rnd := rand.New(rand.NewPCG(1, 2))
	hooks, marks, tried := 0, 0, 0
	for i := 0; i < len(f.Funcs) && tried < 2500/patchtest.Sample; i++ {
		fn := &f.Funcs[i]
		if fn.End-fn.Entry > 1000 || refuse(fn) != "" || fn.Asm || fn.Package == "" {
			continue
		}
		original := c.Bytes(fn.Entry, fn.End-fn.Entry)
		calls, pcs := f.Inlined(fn), f.CallPCs(fn)
		for range 2 {
			tried++
			code := bytes.Clone(original)
			for range 1 + rnd.IntN(3) {
				// Mostly near the beginning: entry hooks are there.
				at := rnd.IntN(len(code))
				if rnd.IntN(2) == 0 {
					at = rnd.IntN(min(24, len(code)))
				}
				switch rnd.IntN(3) {
				case 0:
					code[at] = byte(rnd.Uint32())
				case 1:
					code[at] ^= 1 << rnd.IntN(8)
				default:
					from := rnd.IntN(len(code))
					copy(code[at:], original[from:min(len(original), from+1+rnd.IntN(8))])
				}
			}
			if !agreed(code) {
				continue
			}
			var w worker
			var r result
			b := &w.fn
			if b.Disassemble(fn.Entry, code, m.word) != "" || b.unsafe() != "" {
				continue
			}
			r.inside = b.goHooks(i, m.newproc)
			r.entry, r.why = b.entryHook(m.morestack)
			r.calls = b.directCalls(&r.entry, map[uint64]int{fn.Entry: i})
			w.blockHooks(m, i, calls, pcs, &r)
			p := &plan.Plan{}
			if r.entry.Kind != 0 {
				p.Hooks, p.Calls = append(p.Hooks, r.entry), ownCalls(&r)
			}
			p.Hooks = append(p.Hooks, r.inside...)
			hooks += len(p.Hooks)
			// A change may have put the entries of a jump table between
			// instructions: then where the table ends is not seen.
			j := judge{entry: fn.Entry, end: fn.Entry + uint64(len(code)), plain: stretches{{fn.Entry, code}}, noReturn: m.panics, more: m.morestack}
			if !slices.ContainsFunc(j.tables(programData{c}), func(to uint64) bool { return b.Index(int64(to-fn.Entry)) < 0 }) {
				withMarks(p, b, &r.entry, m.nameAt, m.noReturn)
			}
			marks += len(p.Marks)
			if err := j.plan(p, code, programData{c}); err != nil {
				t.Errorf("%s: % x\n%v\n%+v", fn.Name, code, err, p.Hooks)
			}
		}
	}
	t.Logf("%d mutants, %d hooks, %d marks", tried, hooks, marks)
	if hooks < 500/patchtest.Sample || marks < 2000/patchtest.Sample {
		t.Errorf("%d hooks and %d marks are too few to tell anything", hooks, marks)
	}
}

// programData is a program's data as an image.
type programData struct{ c *executable.Code }

func (d programData) at(addr uint64) []byte {
	for n := uint64(8192); n >= 8; n /= 2 {
		if b := d.c.Bytes(addr, n); b != nil {
			return b
		}
	}
	return nil
}
