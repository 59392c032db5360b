package executable

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

// Code is what a program puts into memory when it is loaded, by link-time
// address: its machine code and its data, as the file has them. It may be used
// from many goroutines.
type Code struct {
	im *image
}

// Code reads the program's code and data from the file again, and fails when
// that is not the program any more that was opened.
func (f *File) Code() (*Code, error) {
	c, err := f.code()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return c, nil
}

func (f *File) code() (*Code, error) {
	r, size, err := f.reopen(f.Path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	im, err := newImage(r, size)
	if err != nil {
		return nil, err
	}
	if id := im.buildID(); id != f.BuildID {
		return nil, fmt.Errorf("was built anew since it was opened (build ID %.20q, then %.20q): start again", id, f.BuildID)
	}
	// Only regions that are loaded now are kept: the file is closed, and
	// whoever reads a region must not change it. The function table is known
	// otherwise, and large.
	im.regions = slices.DeleteFunc(im.regions, func(g *region) bool { return strings.HasSuffix(g.name, "gopclntab") })
	for _, g := range im.regions {
		if _, err := im.load(g); err != nil {
			return nil, err
		}
	}
	return &Code{im}, nil
}

// Bytes returns the n bytes at addr, or nil if the file does not have them. They
// must not be changed.
func (c *Code) Bytes(addr, n uint64) []byte { return c.im.bytes(addr, n) }

// Data returns the stretches of the program that are not code, in the order of
// their headers in the file. They must not be changed.
func (c *Code) Data() []Stretch {
	var out []Stretch
	for _, g := range c.im.regions {
		if !g.exec {
			out = append(out, Stretch{g.addr, g.data})
		}
	}
	return out
}

// Stretch is bytes of a program that lie next to each other.
type Stretch struct {
	Addr  uint64 // link-time address of the first one
	Bytes []byte
}

// Imports tells if the program takes one of these symbols from a shared library, as
// programs with C code do.
func (f *File) Imports(names ...string) bool {
	if !f.Cgo || f.GOOS != "linux" {
		return false
	}
	e, err := elf.Open(f.Path)
	if err != nil {
		return false
	}
	defer e.Close()
	symbols, err := e.ImportedSymbols()
	return err == nil && slices.ContainsFunc(symbols, func(s elf.ImportedSymbol) bool { return slices.Contains(names, s.Name) })
}

// CallPCs returns, for each of the calls that Inlined returns for fn, the pc that
// stands for the call in tracebacks: that of an instruction on the line of the
// call, which is a no-op at the very beginning of the body where the compiler had
// no other instruction for it.
//
// CallPCs and Inlined may be called from several goroutines at once, for
// different functions.
func (f *File) CallPCs(fn *Func) []uint64 {
	i := f.index(fn.Entry)
	if i < 0 {
		return nil
	}
	r, p := f.tab.record(i), f.tables(i)
	type call struct {
		first uint64 // pc, as Inlined sorts them
		k     int32
		pc    uint64
	}
	var calls []call
	seen := map[int32]bool{}
	from := uint64(0)
	for _, s := range p.inl {
		for k := s.value; k >= 0 && !seen[k]; {
			e, ok := f.tab.inlined(r, k)
			if !ok {
				break
			}
			seen[k] = true
			calls = append(calls, call{from, k, fn.Entry + uint64(e.parentPC)})
			up := p.inl.at(uint64(e.parentPC))
			if up >= k { // damaged: see Frames
				break
			}
			k = up
		}
		from = uint64(s.end)
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.k, b.k)) })
	out := make([]uint64, len(calls))
	for i, c := range calls {
		out[i] = c.pc
	}
	return out
}
