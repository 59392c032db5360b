package patch

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/flow"
	"tracerag/trace/probe/patch/plan"
)

// Options say what to hook.
type Options struct {
	Inlined bool // inlined calls, too
	Lines   bool // which lines of long functions ran, too
}

// Make plans the hooks for the functions of the packages that record chooses,
// which it asks one at a time. The result depends on its arguments only; code is
// what f.Code returns.
func Make(f *executable.File, code *executable.Code, record func(pkg string) bool, o Options) (*plan.Plan, error) {
	if f.GOARCH != "amd64" {
		return nil, fmt.Errorf("%s: is a program for %s: only those for amd64 can be changed in memory", f.Path, f.GOARCH)
	}
	return newMaker(f, code, record, o).plan(), nil
}

func newMaker(f *executable.File, code *executable.Code, record func(pkg string) bool, o Options) *maker {
	m := &maker{f: f, code: code, o: o, newproc: newproc(f), panics: map[uint64]bool{}, morestack: map[uint64]bool{}, record: record, records: map[string]bool{}}
	for i := range f.Funcs {
		name, entry := f.Funcs[i].Name, f.Funcs[i].Entry
		if neverReturns(name) {
			m.panics[entry] = true
		}
		if strings.HasPrefix(name, "runtime.morestack") {
			m.morestack[entry] = true
		}
	}
	return m
}

// A maker makes one plan.
type maker struct {
	f       *executable.File
	code    *executable.Code
	o       Options
	newproc uint64
	panics  map[uint64]bool // entries of functions that never return

	morestack map[uint64]bool // entries of the functions that stack checks call
	entries   map[uint64]int  // the recorded functions, by their entries

	mu      sync.Mutex
	record  func(pkg string) bool
	records map[string]bool // what record said

	longs map[string]*atomic.Bool // functions with many lines, by name; true: it is inlined somewhere
}

// recorded tells if a package is recorded.
func (m *maker) recorded(pkg string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[pkg]
	if !ok {
		r = pkg != "" && m.record(pkg)
		m.records[pkg] = r
	}
	return r
}

// noReturn tells if the function at an address never returns.
func (m *maker) noReturn(entry uint64) bool { return m.panics[entry] }

// neverReturns tells by their names which functions of the runtime do not return.
func neverReturns(name string) bool {
	rest, ok := strings.CutPrefix(name, "runtime.")
	if !ok {
		return false
	}
	for _, p := range []string{"panic", "goPanic", "gopanic", "throw", "fatal", "morestack"} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}

// A worker is what one of several goroutines works with.
type worker struct {
	fn      function
	inliner inliner
}

// A function is one whose code was taken apart, with what the planner asks of it.
type function struct{ flow.Body }

// parallel calls do for each i below n, from as many goroutines as may run.
func (m *maker) parallel(n int, do func(w *worker, i int)) {
	// Not too small, for the sake of the counter, and not so large that the last one
	// has all others wait.
	chunk := min(max(n/(32*runtime.GOMAXPROCS(0)), 1), 64)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var w worker
			for {
				to := int(next.Add(int64(chunk)))
				if to-chunk >= n {
					return
				}
				for i := to - chunk; i < min(to, n); i++ {
					do(&w, i)
				}
			}
		})
	}
	wg.Wait()
}

// A result is what is planned for one function.
type result struct {
	entry  plan.Hook   // Kind is 0 if there is none
	why    string      // there is none
	inside []plan.Hook // Go and Block, by address
	missed []plan.Missed
	calls  []callAt // direct calls, where a frame pointer is the function's own
}

func (m *maker) plan() *plan.Plan {
	var fns []int
	for i := range m.f.Funcs {
		if fn := &m.f.Funcs[i]; fn.Entry < fn.End && m.recorded(fn.Package) {
			fns = append(fns, i)
		}
	}
	results := make([]result, len(fns))
	m.entries = make(map[uint64]int, len(fns))
	for _, i := range fns {
		m.entries[m.f.Funcs[i].Entry] = i
	}
	if m.o.Lines {
		m.findLong(fns)
	}
	m.parallel(len(fns), func(w *worker, i int) { results[i] = m.function(w, fns[i]) })

	// Functions that cannot be changed: their calls, perhaps.
	var changed spans
	var want []*wanted
	byFunc := map[int]*wanted{}
	n := 0
	change := func(h *plan.Hook) {
		changed = append(changed, span{h.At, h.At + uint64(max(len(h.Code), plan.JumpSize))})
	}
	for i := range results {
		r := &results[i]
		n += 1 + len(r.inside)
		if r.entry.Kind != 0 {
			change(&r.entry)
		}
		for k := range r.inside {
			change(&r.inside[k])
		}
		if fn := &m.f.Funcs[fns[i]]; r.entry.Kind == 0 && refuse(fn) == "" {
			w := &wanted{fn: fns[i], entry: fn.Entry}
			want = append(want, w)
			byFunc[fns[i]] = w
		}
	}
	waypoints := m.waypoints()
	for i := range waypoints {
		change(&waypoints[i])
	}
	changed.sort()
	m.callSites(want, changed.overlaps)

	p := &plan.Plan{Hooks: make([]plan.Hook, 0, n), Waypoints: waypoints}
	for i := range results {
		r := &results[i]
		if w := byFunc[fns[i]]; w != nil {
			if len(w.sites) > 0 {
				r.entry = plan.Hook{Kind: plan.CallSites, Func: w.fn, Sites: w.sites, Partial: w.partial, Code: w.code, Callee: w.entry}
			} else if r.why == whyAssembly {
				r.why = "assembly that is not called directly"
			}
		}
		if r.entry.Kind != 0 {
			p.Hooks = append(p.Hooks, r.entry)
		} else {
			p.Unhooked = append(p.Unhooked, plan.Unhooked{Func: fns[i], Why: r.why})
		}
		p.Hooks = append(p.Hooks, r.inside...)
		p.Missed = append(p.Missed, r.missed...)
	}
	if m.o.Lines {
		p.Marks = m.marks(p.Hooks)
	}
	p.Calls = ledCalls(p.Hooks, results)
	return p
}

// function plans the hooks in one function.
func (m *maker) function(w *worker, i int) (r result) {
	fn := &m.f.Funcs[i]
	if r.why = m.takeApart(&w.fn, fn); r.why == "" {
		if m.newproc != 0 {
			r.inside = w.fn.goHooks(i, m.newproc)
		}
		r.entry, r.why = w.fn.entryHook(m.morestack)
		r.entry.Func = i
		r.calls = w.fn.directCalls(&r.entry, m.entries)
	}
	if m.o.Inlined && refuse(fn) == "" {
		calls := m.f.Inlined(fn)
		m.notLong(calls)
		if slices.ContainsFunc(calls, func(c executable.InlinedCall) bool { return m.recorded(c.Package) }) {
			w.blockHooks(m, i, calls, m.f.CallPCs(fn), &r)
		}
	}
	slices.SortStableFunc(r.inside, func(a, b plan.Hook) int { return cmp.Compare(a.At, b.At) })
	return r
}

// takeApart disassembles a function, or returns why nothing in it may be changed.
func (m *maker) takeApart(b *function, fn *executable.Func) (why string) {
	if why := refuse(fn); why != "" {
		return why
	}
	if fn.Asm {
		return whyAssembly
	}
	if why := b.Disassemble(fn.Entry, m.code.Bytes(fn.Entry, fn.End-fn.Entry), m.word); why != "" {
		return why
	}
	return b.unsafe()
}

// word reads an address in the program's data.
func (m *maker) word(addr uint64) (uint64, bool) {
	p := m.code.Bytes(addr, 8)
	if p == nil {
		return 0, false
	}
	return le.Uint64(p), true
}
