package executable

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Frame is one logical frame at a pc: of the function that has the code, or of
// a call that was inlined into it.
type Frame struct {
	Name, Package string // as in Func
	File          string // that Line is in
	StartLine     int    // of the function
	// Line is the line that is being executed: in the innermost frame that
	// of the pc, in the others that of the call.
	Line    int
	Inlined bool
}

// InlinedCall is one call that was inlined into a function. Calls that left no
// instruction are not there.
type InlinedCall struct {
	Name, Package string // of the callee, as in Func
	File          string // where the callee begins
	StartLine     int
	Parent        int // index of the inlined call that made this one, -1: the function itself
	CallLine      int // the line of the call, in the caller
	// Ranges are the pcs [from, to) of the callee and of everything that was
	// inlined into it in turn, sorted and disjoint.
	Ranges [][2]uint64
}

// treeEntry is an entry of an inline tree (the runtime's struct inlinedCall).
type treeEntry struct {
	nameOff   uint32
	parentPC  uint32 // distance from the entry of a pc whose position is the call's
	startLine int32
}

const treeEntrySize = 16

func parseTreeEntry(b []byte) treeEntry {
	return treeEntry{le.Uint32(b[4:]), le.Uint32(b[8:]), int32(le.Uint32(b[12:]))}
}

// inlined returns entry k of a function's inline tree.
func (t *table) inlined(r record, k int32) (treeEntry, bool) {
	off, ok := r.tree()
	if !ok || k < 0 || uint64(off) < t.treesOff {
		return treeEntry{}, false
	}
	at := uint64(off) - t.treesOff + uint64(k)*treeEntrySize
	if at+treeEntrySize > uint64(len(t.trees)) {
		return treeEntry{}, false
	}
	return parseTreeEntry(t.trees[at:]), true
}

// findFuncdata finds the address to which the functions' funcdata offsets are
// relative, and takes the inline trees from there.
//
// The address is in the moduledata, but which word it is depends on the
// release. So a word is tried by looking at trees through it: an entry has
// three zero bytes, an offset that is the start of a function name, a place in
// the function, and a line number.
func (t *table) findFuncdata(im *image, m moduledata) error {
	type tree struct {
		off, end uint64
		size     uint64 // of the function
	}
	// The length of a tree is not stored: the highest index in use tells it.
	read := func(i int) tree {
		r, size := t.record(i), t.entryOff(i+1)-t.entryOff(i)
		o, _ := r.tree()
		n := int32(0)
		t.walk(r.inlTab(), size, func(s step) bool {
			n = max(n, s.value+1)
			return true
		})
		return tree{uint64(o), uint64(o) + uint64(n)*treeEntrySize, size}
	}
	var sample []tree
	lo, hi := ^uint32(0), uint32(0) // the first tree and the last one
	for i := range t.nfunc {
		if off, ok := t.record(i).tree(); ok {
			lo, hi = min(lo, off), max(hi, off)
			if len(sample) < 64 {
				sample = append(sample, read(i))
			}
		}
	}
	end := uint64(0)
	for i := range t.nfunc {
		if off, ok := t.record(i).tree(); ok && off == hi {
			end = max(end, read(i).end)
		}
	}
	if len(sample) == 0 {
		return nil // nothing was inlined (-gcflags=all=-l)
	}
	plausible := func(base uint64) bool {
		for _, s := range sample {
			b := im.bytes(base+s.off, s.end-s.off)
			if b == nil {
				return false
			}
			for ; len(b) > 0; b = b[treeEntrySize:] {
				e := parseTreeEntry(b)
				if b[1]|b[2]|b[3] != 0 || e.startLine <= 0 || uint64(e.parentPC) >= s.size ||
					uint64(e.nameOff) >= uint64(len(t.names)) || e.nameOff > 0 && t.names[e.nameOff-1] != 0 {
					return false
				}
			}
		}
		return true
	}
	for _, base := range m.after {
		if !plausible(base) {
			continue
		}
		from := base + uint64(lo)
		b := im.bytes(from, end-uint64(lo))
		if b == nil {
			return fmt.Errorf("damaged executable: the inline trees (%#x to %#x) are not in the file: build or copy it again", from, base+end)
		}
		t.trees, t.treesOff = b, uint64(lo)
		return nil
	}
	return fmt.Errorf("damaged executable, or one of an unknown Go release: no word of the module data leads to inline trees")
}

// pcTables are the decoded tables of one function.
type pcTables struct {
	file, line, inl steps
}

// tables returns the decoded tables of function i.
func (f *File) tables(i int) *pcTables {
	if f.pcs[i] == nil {
		r, size := f.tab.record(i), f.Funcs[i].End-f.Funcs[i].Entry
		f.pcs[i] = &pcTables{
			file: f.tab.decode(r.fileTab(), size),
			line: f.tab.decode(r.lineTab(), size),
			inl:  f.tab.decode(r.inlTab(), size),
		}
	}
	return f.pcs[i]
}

// Frames returns the logical frames at pc, the innermost first; the last one is
// the function that has the code. It is nil when pc is in no function.
//
// The pc is that of an instruction: for a return address ask for the byte
// before it, which belongs to the call. The result is kept and returned again:
// do not change it. What a damaged table does not tell is "" or 0.
func (f *File) Frames(pc uint64) []Frame {
	if fr, ok := f.frames[pc]; ok {
		return fr
	}
	i := f.Index(pc)
	if i < 0 {
		return nil
	}
	fn, r, p := &f.Funcs[i], f.tab.record(i), f.tables(i)
	var out []Frame
	at := pc - fn.Entry
	// Going outwards the index falls: the compiler numbers callers before
	// what is inlined into them. That also ends the walk of a damaged tree.
	for last := int32(math.MaxInt32); ; {
		k := p.inl.at(at)
		e, ok := f.tab.inlined(r, k)
		if !ok || k >= last {
			break
		}
		name := f.tab.name(e.nameOff)
		out = append(out, Frame{
			Name: name, Package: f.packageOf(name),
			File: f.tab.file(r.unit(), p.file.at(at)), Line: line(p, at),
			StartLine: int(e.startLine), Inlined: true,
		})
		at, last = uint64(e.parentPC), k
	}
	out = append(out, Frame{
		Name: fn.Name, Package: fn.Package,
		File: f.tab.file(r.unit(), p.file.at(at)), Line: line(p, at),
		StartLine: fn.StartLine,
	})
	f.frames[pc] = out
	return out
}

func line(p *pcTables, at uint64) int { return int(max(0, p.line.at(at))) }

// Inlined returns the calls that were inlined into fn, which is one of
// f.Funcs, by the address of their first instruction, and callers before
// callees. It is nil when there are none.
func (f *File) Inlined(fn *Func) []InlinedCall {
	i := f.Index(fn.Entry)
	if i < 0 {
		return nil
	}
	r := f.tab.record(i)
	if _, ok := r.tree(); !ok {
		return nil // in most functions
	}
	p := f.tables(i)

	// Which entries of the tree are in use, and by which pcs. There are no more
	// entries than there is room for in all trees.
	n := int32(0)
	for _, s := range p.inl {
		n = max(n, s.value+1)
	}
	type entry struct {
		ranges [][2]uint64
		parent int32
		own    uint64 // a pc of the call's own code, as a distance from the entry,
		owns   bool   // if there is one
	}
	entries := make([]entry, min(int(n), len(f.tab.trees)/treeEntrySize))
	var keys []int32
	from := uint64(0)
	for _, s := range p.inl {
		pcs := [2]uint64{fn.Entry + from, fn.Entry + uint64(s.end)}
		for k := s.value; k >= 0; {
			t, ok := f.tab.inlined(r, k)
			if !ok {
				break
			}
			e := &entries[k]
			if e.ranges == nil {
				e.parent = p.inl.at(uint64(t.parentPC))
				if _, ok := f.tab.inlined(r, e.parent); !ok || e.parent >= k { // damaged: see Frames
					e.parent = -1
				}
				keys = append(keys, k)
			}
			if n := len(e.ranges); n > 0 && e.ranges[n-1][1] == pcs[0] {
				e.ranges[n-1][1] = pcs[1]
			} else {
				e.ranges = append(e.ranges, pcs)
			}
			if k == s.value && !e.owns {
				e.own, e.owns = from, true
			}
			k = e.parent
		}
		from = uint64(s.end)
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, func(a, b int32) int {
		// A caller has the lower number.
		return cmp.Or(cmp.Compare(entries[a].ranges[0][0], entries[b].ranges[0][0]), cmp.Compare(a, b))
	})
	index := make([]int, len(entries)) // in keys
	for i, k := range keys {
		index[k] = i
	}
	out := make([]InlinedCall, len(keys))
	for i, k := range keys {
		t, _ := f.tab.inlined(r, k)
		e, c := &entries[k], &out[i]
		c.Name = f.tab.name(t.nameOff)
		c.Package = f.packageOf(c.Name)
		c.StartLine = int(t.startLine)
		c.Ranges = e.ranges
		c.Parent = -1
		if e.parent >= 0 {
			c.Parent = index[e.parent]
		}
		c.CallLine = line(p, uint64(t.parentPC))
		if e.owns { // always: at least a no-op that marks the call
			c.File = f.tab.file(r.unit(), p.file.at(e.own))
		}
	}
	return out
}
