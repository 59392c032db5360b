package patch

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
)

// A wanted is a function whose direct calls are to be led through a stub.
type wanted struct {
	fn      int
	entry   uint64
	sites   []uint64
	code    []byte // first byte of the instruction at each site
	partial bool
}

// callSites looks for the direct calls of functions, and tail calls, in the whole
// program, and for other uses of their addresses. Taken are those in functions
// that the compiler made: there R12, R13, R15 and the flags are free at a call.
// taken tells if bytes are changed by another hook.
func (m *maker) callSites(want []*wanted, taken func(addr, n uint64) bool) {
	if len(want) == 0 {
		return
	}
	byEntry := map[uint64]*wanted{}
	var filter addressFilter
	first, last := ^uint64(0), uint64(0)
	for _, w := range want {
		byEntry[w.entry] = w
		filter.add(w.entry)
		first, last = min(first, w.entry), max(last, w.entry)
	}
	var mu sync.Mutex
	m.parallel(len(m.f.Funcs), func(worker *worker, i int) {
		fn := &m.f.Funcs[i]
		code := m.code.Bytes(fn.Entry, fn.End-fn.Entry)
		found := false
		for at := 0; at+4 <= len(code) && !found; at++ {
			t := fn.Entry + uint64(at) + 4 + uint64(int64(int32(le.Uint32(code[at:]))))
			found = t-first <= last-first && filter.has(t) && byEntry[t] != nil
		}
		if !found {
			return
		}
		// The instructions show which displacements are real.
		b := &worker.fn
		why := b.Disassemble(fn.Entry, code, m.word)
		mu.Lock()
		defer mu.Unlock()
		if why != "" {
			for at := 0; at+4 <= len(code); at++ {
				if w := byEntry[fn.Entry+uint64(at)+4+uint64(int64(int32(le.Uint32(code[at:]))))]; w != nil {
					w.partial = true
				}
			}
			return
		}
		calls := !fn.Asm && fn.Package != "" && refuse(fn) == "" && b.unsafe() == ""
		for k := range b.Ins {
			in := &b.Ins[k]
			if in.RelAt == 0 {
				continue
			}
			w := byEntry[fn.Entry+uint64(in.Target)]
			if w == nil || in.Target == 0 && in.Flow != x86.Call { // stack checks jump to the entry
				continue
			}
			addr := fn.Entry + uint64(in.Off)
			switch {
			case in.Size == plan.JumpSize && in.RelAt == 1 && (in.Flow == x86.Call || in.Flow == x86.Jump) && calls:
				if !taken(addr, plan.JumpSize) {
					w.sites = append(w.sites, addr)
				}
				// Else it is displaced into a stub, where it is redirected.
			default:
				w.partial = true
			}
		}
	})
	for _, w := range want {
		slices.Sort(w.sites)
		for _, s := range w.sites {
			w.code = append(w.code, m.code.Bytes(s, 1)[0])
		}
	}
	m.addressesInData(want)
}

// addressesInData looks for the functions' addresses in the data: function values,
// method tables with addresses, and method tables with distances from the text.
func (m *maker) addressesInData(want []*wanted) {
	var filter addressFilter
	byEntry := map[uint64]*wanted{}
	for _, w := range want {
		byEntry[w.entry] = w
		filter.add(w.entry)
		if strings.Contains(m.f.Funcs[w.fn].Name, ").") || strings.Count(m.f.Funcs[w.fn].Name, ".") > 1 {
			filter.add(w.entry - m.f.TextStart)
		}
	}
	for _, d := range m.code.Data() {
		for at := 0; at+4 <= len(d.Bytes); at += 4 {
			v := uint64(le.Uint32(d.Bytes[at:]))
			if filter.has(v) {
				if w := byEntry[v+m.f.TextStart]; w != nil {
					w.partial = true
				}
			}
			if at%8 == 0 && at+8 <= len(d.Bytes) {
				v |= uint64(le.Uint32(d.Bytes[at+4:])) << 32
				if filter.has(v) {
					if w := byEntry[v]; w != nil {
						w.partial = true
					}
				}
			}
		}
	}
}

// An addressFilter tells quickly that an address is not in a set.
type addressFilter [1 << 10]uint64

func (f *addressFilter) add(a uint64)      { f[a>>6%uint64(len(f))] |= 1 << (a % 64) }
func (f *addressFilter) has(a uint64) bool { return f[a>>6%uint64(len(f))]&(1<<(a%64)) != 0 }

// goHooks returns a hook for each go statement of a function: it is compiled to a
// call of runtime.newproc.
func (b *function) goHooks(fn int, newproc uint64) []plan.Hook {
	var out []plan.Hook
	for _, i := range b.Calls {
		in := &b.Ins[i]
		if in.Size == plan.JumpSize && b.Entry+uint64(in.Target) == newproc {
			out = append(out, plan.Hook{Kind: plan.Go, Func: fn, At: b.Entry + uint64(in.Off), Code: bytes.Clone(b.BytesOf(int(i), int(i)+1)[:1]), Callee: newproc})
		}
	}
	return out
}

// newproc is the address of the function that go statements call, 0 if there is
// none.
func newproc(f *executable.File) uint64 {
	i := slices.IndexFunc(f.Funcs, func(fn executable.Func) bool { return fn.Name == "runtime.newproc" })
	if i < 0 {
		return 0
	}
	return f.Funcs[i].Entry
}

// A span is bytes that a hook changes.
type span struct{ from, to uint64 }

// spans are sorted, so that it is quickly seen what is changed.
type spans []span

func (s spans) sort() { slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) }) }

// from returns those spans that end behind an address.
func (s spans) from(addr uint64) spans {
	i, _ := slices.BinarySearchFunc(s, addr, func(s span, a uint64) int {
		if s.to <= a {
			return -1
		}
		return 1
	})
	return s[i:]
}

// overlaps tells if any of the n bytes at addr is in a span.
func (s spans) overlaps(addr, n uint64) bool {
	s = s.from(addr)
	return len(s) > 0 && s[0].from < addr+n
}
