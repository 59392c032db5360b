package executable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// The pclntab's magic number since Go 1.20, and the ones before: Go 1.2, 1.16,
// and 1.18.
const (
	magic    = 0xfffffff1
	magic2   = 0xfffffffb
	magic116 = 0xfffffffa
	magic118 = 0xfffffff0
)

const (
	headerSize = 72 // 8 bytes and eight words
	recordSize = 44 // of a function, without the offsets at its end
)

// Indices of the tables of a function.
const (
	pcdataInlTree   = 2 // pc-value table: index in the inline tree at a pc
	funcdataInlTree = 3
)

// A table is a pclntab, cut into its parts.
type table struct {
	addr    uint64 // of its header
	quantum uint64 // unit of the pc deltas: the smallest instruction's size
	nfunc   int

	namesOff uint64 // of names, from addr
	names    string // function names, each ended by a zero byte
	files    string // file names, each ended by a zero byte
	units    []byte // for each compilation unit the offsets of its files' names
	values   []byte // pc-value tables
	funcs    []byte // function entries, then the records

	text    uint64 // address to which function entries are relative
	textEnd uint64 // address of runtime.etext
	// trees holds the inline trees; treesOff is how far its first byte is
	// from the start of the funcdata, to which functions' offsets are
	// relative.
	trees    []byte
	treesOff uint64
}

// readTable finds the pclntab and what it refers to.
func readTable(im *image) (*table, error) {
	t, err := findTable(im)
	if err != nil {
		return nil, err
	}
	m, err := findModuledata(im, t)
	if err != nil {
		return nil, err
	}
	t.text = m.text
	end := t.text + t.entryOff(t.nfunc)
	if r := im.find(t.text); r == nil || !r.exec || end < t.text || end > r.addr+r.size {
		return nil, fmt.Errorf("damaged executable: the functions' addresses (%#x to %#x) are not in a code section", t.text, end)
	}
	// The word behind the start of the text is its end, behind all code.
	if t.textEnd = end; len(m.after) > 0 && m.after[0] > end && m.after[0]-end < 1<<32 {
		t.textEnd = m.after[0]
	}
	if err := t.checkRecords(); err != nil {
		return nil, err
	}
	return t, t.findFuncdata(im, m)
}

// findTable looks for the pclntab in the section that the Go linker makes for
// it, then in all data: the Windows linker and external linkers merge the
// section with others.
func findTable(im *image) (*table, error) {
	for _, r := range im.regions {
		if !strings.HasSuffix(r.name, "gopclntab") {
			continue
		}
		d, err := im.load(r)
		if err != nil {
			return nil, err
		}
		return parseTable(r.addr, d)
	}
	var damaged error
	older := false
	for _, r := range im.regions {
		if r.exec {
			continue
		}
		d, err := im.load(r)
		if err != nil {
			return nil, err
		}
		// The magic's last three bytes and the two zeros after it, common to
		// all versions, 8-byte aligned.
		for i := 0; ; i++ {
			j := bytes.Index(d[i:], []byte{0xff, 0xff, 0xff, 0, 0})
			if j < 0 {
				break
			}
			i += j
			start := i - 1
			if start < 0 || (r.addr+uint64(start))%8 != 0 || len(d)-start < headerSize || !plausibleHeader(d[start:]) {
				continue
			}
			switch le.Uint32(d[start:]) {
			case magic:
				t, err := parseTable(r.addr+uint64(start), d[start:])
				if err == nil {
					return t, nil
				}
				damaged = err // but perhaps it was data that looks like one
			case magic2, magic116, magic118:
				older = true
			}
		}
	}
	switch {
	case damaged != nil:
		return nil, damaged
	case older:
		return nil, errOld
	}
	return nil, ErrNotGo
}

// ErrNotGo says that a file is an executable, and of no Go program.
var ErrNotGo = errors.New("has no Go function table (pclntab): it is not a Go program, or it is packed: name the unpacked executable that go build wrote")

var errOld = fmt.Errorf("built with a Go release before 1.20: its tables cannot be read: build it with Go 1.21 or later")

// plausibleHeader tells if the bytes after a magic number look like the rest
// of a pclntab's header.
func plausibleHeader(d []byte) bool {
	quantum, ptrSize := d[6], d[7]
	return d[4] == 0 && d[5] == 0 && (quantum == 1 || quantum == 2 || quantum == 4) && (ptrSize == 4 || ptrSize == 8)
}

// parseTable cuts d, which begins with a pclntab and may go on after it.
func parseTable(addr uint64, d []byte) (*table, error) {
	bad := func(format string, args ...any) (*table, error) {
		return nil, fmt.Errorf("damaged function table (pclntab at %#x): %s: build or copy the program again", addr, fmt.Sprintf(format, args...))
	}
	if len(d) < headerSize {
		return bad("%d bytes are too few", len(d))
	}
	switch m := le.Uint32(d); m {
	case magic:
	case magic2, magic116, magic118:
		return nil, errOld
	default:
		if m&^0xff == magic&^0xff {
			return nil, fmt.Errorf("has a function table of an unknown form (magic number %#x): it was built with a Go release newer than this reader", m)
		}
		return bad("the magic number is %#x", m)
	}
	if !plausibleHeader(d) {
		return bad("the header is %x", d[:8])
	}
	if d[7] != 8 {
		return nil, fmt.Errorf("is a program for a 32-bit machine: only 64-bit ones can be read")
	}
	size := uint64(len(d))
	nfunc := le.Uint64(d[8:])
	// The fourth word was the text's start, and is zero since Go 1.26.
	var start [6]uint64
	for i, part := range []string{"function names", "compilation units", "file names", "pc-value tables", "functions"} {
		start[i] = le.Uint64(d[32+8*i:])
		if start[i] < headerSize || start[i] > size || i > 0 && start[i] < start[i-1] {
			return bad("the %s begin at offset %#x of %#x", part, start[i], size)
		}
	}
	start[5] = size
	part := func(i int) []byte { return d[start[i]:start[i+1]:start[i+1]] }

	t := &table{
		addr:     addr,
		quantum:  uint64(d[6]),
		namesOff: start[0],
		names:    text(part(0)),
		units:    part(1),
		files:    text(part(2)),
		values:   part(3),
		funcs:    part(4),
	}
	if nfunc == 0 {
		return bad("it has no functions")
	}
	if n := uint64(len(t.funcs)); nfunc > n/(8+recordSize) {
		return bad("%d functions do not fit in %d bytes", nfunc, n)
	}
	t.nfunc = int(nfunc)
	return t, nil
}

// text is bytes that nobody changes any more as a string. They are megabytes, of which a
// copy would take as long as reading them.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// entryOff is the distance of function i's entry from the text's start; that
// of i == nfunc is the end of the last function.
func (t *table) entryOff(i int) uint64 { return uint64(le.Uint32(t.funcs[8*i:])) }

// A record describes one function (the runtime's struct _func).
type record []byte

func (r record) nameOff() uint32  { return le.Uint32(r[4:]) }
func (r record) fileTab() uint32  { return le.Uint32(r[20:]) }
func (r record) lineTab() uint32  { return le.Uint32(r[24:]) }
func (r record) npcdata() uint32  { return le.Uint32(r[28:]) }
func (r record) unit() uint32     { return le.Uint32(r[32:]) }
func (r record) startLine() int32 { return int32(le.Uint32(r[36:])) }
func (r record) funcID() uint8    { return r[40] }
func (r record) asm() bool        { return r[41]&4 != 0 }
func (r record) nfuncdata() uint8 { return r[43] }

// inlTab is the offset of the table of inline tree indices, 0 if there is none.
func (r record) inlTab() uint32 {
	if r.npcdata() <= pcdataInlTree {
		return 0
	}
	return le.Uint32(r[recordSize+4*pcdataInlTree:])
}

// tree is the offset of the inline tree in the funcdata.
func (r record) tree() (off uint32, ok bool) {
	if r.nfuncdata() <= funcdataInlTree {
		return 0, false
	}
	off = le.Uint32(r[recordSize+4*(int(r.npcdata())+funcdataInlTree):])
	return off, off != ^uint32(0)
}

// record returns the record of function i; checkRecords made sure of it.
func (t *table) record(i int) record {
	return record(t.funcs[le.Uint32(t.funcs[8*i+4:]):])
}

// checkRecords makes sure that each function's record lies in the table, so
// that nobody need check again, and that the entries are sorted.
func (t *table) checkRecords() error {
	size := uint64(len(t.funcs))
	for i := range t.nfunc {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("damaged function table (pclntab at %#x): function %d of %d: %s: build or copy the program again",
				t.addr, i, t.nfunc, fmt.Sprintf(format, args...))
		}
		off := uint64(le.Uint32(t.funcs[8*i+4:]))
		if off > size || size-off < recordSize {
			return bad("its record is at offset %#x of %#x", off, size)
		}
		r := record(t.funcs[off:])
		if n := uint64(r.npcdata()) + uint64(r.nfuncdata()); (size-off-recordSize)/4 < n {
			return bad("its record has %d tables", n)
		}
		if e := uint64(le.Uint32(r)); e != t.entryOff(i) {
			return bad("its entry is %#x in the index and %#x in its record", t.entryOff(i), e)
		}
		if t.entryOff(i) > t.entryOff(i+1) {
			return bad("it begins at %#x, after the next one (%#x)", t.entryOff(i), t.entryOff(i+1))
		}
		if uint64(r.nameOff()) >= uint64(len(t.names)) {
			return bad("its name is at offset %#x of %#x", r.nameOff(), len(t.names))
		}
	}
	return nil
}

// name is the function name at an offset, "" when the offset is wrong.
func (t *table) name(off uint32) string { return stringAt(t.names, off) }

// file is the name of file number i of a compilation unit, "" when there is
// none.
func (t *table) file(unit uint32, i int32) string {
	at := 4 * (uint64(unit) + uint64(i))
	if i < 0 || at+4 > uint64(len(t.units)) {
		return ""
	}
	return stringAt(t.files, le.Uint32(t.units[at:]))
}

func stringAt(s string, off uint32) string {
	if uint64(off) >= uint64(len(s)) {
		return ""
	}
	s = s[off:]
	if n := strings.IndexByte(s, 0); n >= 0 {
		return s[:n]
	}
	return ""
}

// readFuncs fills f.Funcs from the table, on all processors: large programs have a hundred
// thousand.
func (f *File) readFuncs() {
	t := f.tab
	f.Funcs = make([]Func, t.nfunc)
	parts := make([]funcsRead, min(runtime.GOMAXPROCS(0), 1+t.nfunc/1000))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { parts[i] = f.readSome(t.nfunc*i/len(parts), t.nfunc*(i+1)/len(parts)) })
	}
	wg.Wait()
	// The runtime's code for "wrapper" is the last of an enumeration that
	// grows with releases. The functions without a source file tell it.
	var votes [256]int
	for i := range parts {
		for id, n := range parts[i].votes {
			votes[id] += n
		}
		f.Race = f.Race || parts[i].race
		f.Cgo = f.Cgo || parts[i].cgo
	}
	votes[0] = 0 // an ordinary function
	wrapper := 0
	for id, n := range votes {
		if n > votes[wrapper] {
			wrapper = id
		}
	}
	if wrapper != 0 {
		for i := range f.Funcs {
			if int(t.record(i).funcID()) == wrapper {
				f.Funcs[i].Wrapper = true
			}
		}
	}
}

// funcsRead is what some functions say of all.
type funcsRead struct {
	votes     [256]int // for which code of the runtime's is "wrapper"
	race, cgo bool
}

// readSome fills a part of f.Funcs.
func (f *File) readSome(from, to int) (read funcsRead) {
	t := f.tab
	for i := from; i < to; i++ {
		r, fn := t.record(i), &f.Funcs[i]
		fn.Name = t.name(r.nameOff())
		fn.StartLine = int(r.startLine())
		fn.Entry = t.text + t.entryOff(i)
		fn.End = t.text + t.entryOff(i+1)
		fn.Asm = r.asm()
		fn.File = t.file(r.unit(), t.ownFile(r, fn.End-fn.Entry))
		if fn.File != "" { // C functions have none, and C's names have dots, too: "f.cold"
			fn.Package = f.packageOf(fn.Name)
		}
		if isPackageInit(fn.Name) {
			fn.File = autogenerated // where it has no prologue the first variable's
		}
		if fn.File == autogenerated {
			fn.Wrapper = true
			read.votes[r.funcID()]++
		}
		read.race = read.race || fn.Name == "racecall" // assembly that only race builds have
		read.cgo = read.cgo || fn.Package == "runtime/cgo"
	}
	return read
}

// isPackageInit tells if a function is the one that the compiler makes to
// initialise a package's variables. The init functions in the source are
// "pkg.init.0" and so on.
func isPackageInit(name string) bool {
	_, local, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	return local == "init"
}

// autogenerated is the compiler's file name for code without source.
const autogenerated = "<autogenerated>"

// ownFile is the number of the file that a function is in.
func (t *table) ownFile(r record, size uint64) int32 {
	pc := uint64(0)
	// A function without a prologue may begin with an inlined body, of
	// another file. Each inlined call has a pc that stands for its call site;
	// the outermost one's is in the function itself. As in Frames the index
	// falls on the way out.
	for last := int32(math.MaxInt32); ; {
		k := t.valueAt(r.inlTab(), size, pc)
		c, ok := t.inlined(r, k)
		if !ok || k >= last {
			break
		}
		pc, last = uint64(c.parentPC), k
	}
	return t.valueAt(r.fileTab(), size, pc)
}
