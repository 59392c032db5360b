package patch

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
)

// judgeProgram emits a plan and compares each function of the program that it
// changes with the original.
func judgeProgram(t testing.TB, f *executable.File, c *executable.Code, p *plan.Plan) {
	t.Helper()
	first, last := f.Funcs[0].Entry, f.Funcs[len(f.Funcs)-1].End
	const slide = 0x10_0000_0000 // as if loaded elsewhere
	text := c.Bytes(first, last-first)
	plain := stretches{{first + slide, text}}
	base := first + slide - 0x1000_0000
	e := stubs.Entries{Enter: base - 0x1000, Go: base - 0xf00, Block: base - 0x800, Bare: base - 0x700, Way: base - 0x600, Call: base - 0x500, Marks: base - 0x100000, Writable: true}
	code, patches, err := stubs.Emit(p, base, slide, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := disjoint(patches); err != nil {
		t.Error(err)
	}
	patched, err := plain.with(patches)
	if err != nil {
		t.Fatal(err)
	}
	patched = append(patched, stretch{base, code})

	var data stretches
	for _, d := range c.Data() {
		data = append(data, stretch{d.Addr + slide, d.Bytes})
	}

	type hooks struct {
		entry  uint32
		bare   bool
		inside map[uint32]bool
	}
	byFunc := map[int]*hooks{}
	of := func(i int) *hooks {
		if byFunc[i] == nil {
			byFunc[i] = &hooks{inside: map[uint32]bool{}}
		}
		return byFunc[i]
	}
	leads := map[uint32]uint64{}
	for i := range p.Hooks {
		h, id := &p.Hooks[i], uint32(i+1)
		switch h.Kind {
		case plan.Check, plan.Frame, plan.Leaf:
			if of(h.Func).entry != 0 {
				t.Errorf("two entry hooks in %s", f.Funcs[h.Func].Name)
			}
			of(h.Func).entry, of(h.Func).bare = id, h.Kind == plan.Leaf
		case plan.CallSites:
			leads[id] = h.Callee + slide
			for _, s := range h.Sites {
				of(slices.IndexFunc(f.Funcs, func(fn executable.Func) bool { return s >= fn.Entry && s < fn.End }))
			}
		case plan.Go:
			leads[id|stubs.Inside] = h.Callee + slide
			of(h.Func)
		case plan.Block:
			of(h.Func).inside[id-of(h.Func).entry] = true
		}
	}
	calls := map[uint64]ledCall{}
	number := map[int]uint32{} // of the last one, by host
	for i, n := range p.Inner() {
		number[i] = n
	}
	for i := range p.Calls {
		number[p.Calls[i].Host]--
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		number[c.Host]++
		calls[c.At+slide] = ledCall{f.Funcs[p.Hooks[c.Callee].Func].Entry + slide, uint32(c.Callee + 1), number[c.Host]}
	}
	for i := range p.Marks {
		of(p.Marks[i].Func)
	}
	for i := range p.Waypoints {
		if h := of(p.Waypoints[i].Func); h.entry != 0 {
			t.Errorf("%s is recorded, and a waypoint", f.Funcs[p.Waypoints[i].Func].Name)
		} else {
			h.entry = wayNote
		}
	}
	noReturn := map[uint64]bool{}
	for i := range f.Funcs {
		if n := f.Funcs[i].Name; strings.HasPrefix(n, "runtime.panic") || strings.HasPrefix(n, "runtime.gopanic") || strings.HasPrefix(n, "runtime.goPanic") {
			noReturn[f.Funcs[i].Entry+slide] = true
		}
	}
	var bad, gone atomic.Int64
	var wg sync.WaitGroup
	funcs := slices.Sorted(maps.Keys(byFunc))
	for n := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := n * patchtest.Sample; k < len(funcs); k += runtime.GOMAXPROCS(0) * patchtest.Sample {
				fn, h := &f.Funcs[funcs[k]], byFunc[funcs[k]]
				j := judge{
					plain: plain, patched: patched, entry: fn.Entry + slide, end: fn.End + slide,
					stubs: [2]uint64{base, base + uint64(len(code))}, entries: e,
					slide: slide, hook: h.entry, inside: h.inside, bare: h.bare, leads: leads, marks: p.Marks, gone: &gone, calls: calls, noReturn: noReturn, strict: true,
				}
				j.targets = j.tables(data)
				if err := j.judge(); err != nil && bad.Add(1) < 20 {
					t.Errorf("%s: %v", fn.Name, err)
				}
			}
		})
	}
	wg.Wait()
	if bad.Load() > 0 {
		t.Errorf("%d of %d changed functions are not the same", bad.Load(), len(byFunc))
	}
	// A seventh is not within a word, some are in functions without a stack check,
	// and to some the judge does not come.
	if n := gone.Load(); patchtest.Sample == 1 && n < int64(len(p.Marks))*2/3 {
		t.Errorf("of %d marks only %d are taken away", len(p.Marks), n)
	}
	t.Logf("%d hooks, %d direct calls, %d marks and %d waypoints in %d functions", len(p.Hooks), len(p.Calls), len(p.Marks), len(p.Waypoints), len(byFunc))
}

func TestProgram(t *testing.T) {
	for _, test := range []struct {
		name, program string
		flags         []string
		std           bool
	}{
		{"with the standard library", "tablecat", nil, true},
		{"without optimisation", "tablecat", []string{"-gcflags=all=-N -l"}, false},
		{"PIE, without symbols", "tablecat", []string{"-buildmode=pie", "-ldflags=-s -w"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, c := patchtest.Open(t, test.program, test.flags...)
			p, err := Make(f, c, func(pkg string) bool { return test.std || !f.Std(pkg) }, Options{Inlined: true, Lines: true})
			if err != nil {
				t.Fatal(err)
			}
			judgeProgram(t, f, c, p)
		})
	}
}
