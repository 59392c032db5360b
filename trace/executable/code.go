package executable

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

// Code is what a program puts into memory when it is loaded, by link-time
// address: its machine code and its data, as the file has them. It may be used
// from many goroutines.
type Code struct {
	im *image
	// Of [File.OpenCode]: what was read so far, by region.
	chunks map[*region][]atomic.Pointer[[]byte]
	close  func() error
}

// codeChunk is how much is read at a time where not all is.
const codeChunk = 64 << 10

// Code reads the program's code and data from the file again, and fails when
// that is not the program any more that was opened.
func (f *File) Code() (*Code, error) {
	c, err := f.code()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return c, nil
}

// OpenCode is Code for who asks for little of it: it has the file open until Close, and
// reads parts of it as they are asked for.
func (f *File) OpenCode() (*Code, error) {
	c, r, err := f.codeOf()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	c.close, c.chunks = r.Close, make(map[*region][]atomic.Pointer[[]byte], len(c.im.regions))
	for _, g := range c.im.regions {
		c.chunks[g] = make([]atomic.Pointer[[]byte], (g.size+codeChunk-1)/codeChunk)
	}
	return c, nil
}

// Close closes the file of a Code that has it open. Nothing more can be read then.
func (c *Code) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

func (f *File) code() (*Code, error) {
	c, r, err := f.codeOf()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for _, g := range c.im.regions {
		if _, err := c.im.load(g); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// codeOf opens the program's file again. Nothing is read yet.
func (f *File) codeOf() (*Code, *os.File, error) {
	r, size, err := f.reopen(f.Path)
	if err != nil {
		return nil, nil, err
	}
	im, err := newImage(r, size)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	if id := im.buildID(); id != f.BuildID {
		r.Close()
		return nil, nil, fmt.Errorf("was built anew since it was opened (build ID %.20q, then %.20q): start again", id, f.BuildID)
	}
	// The function table is known otherwise, and large.
	im.regions = slices.DeleteFunc(im.regions, func(g *region) bool { return strings.HasSuffix(g.name, "gopclntab") })
	for _, g := range im.regions {
		g.data = nil // the build ID may have been looked for in it
	}
	return &Code{im: im}, r, nil
}

// Bytes returns the n bytes at addr, or nil if the file does not have them. They
// must not be changed.
func (c *Code) Bytes(addr, n uint64) []byte {
	g := c.im.find(addr)
	if c.chunks == nil || g == nil || n > g.size-(addr-g.addr) {
		return c.im.bytes(addr, n)
	}
	off := addr - g.addr
	i := off / codeChunk
	if n == 0 || (off+n-1)/codeChunk != i {
		return c.im.bytes(addr, n)
	}
	chunk := c.chunks[g][i].Load()
	if chunk == nil { // two may read it at the same time, the same
		b := c.im.bytes(g.addr+i*codeChunk, min(codeChunk, g.size-i*codeChunk))
		if b == nil {
			return nil
		}
		chunk = &b
		c.chunks[g][i].Store(chunk)
	}
	return (*chunk)[off-i*codeChunk:][:n:n]
}

// Data returns the stretches of the program that are not code, in the order of
// their headers in the file. They must not be changed.
func (c *Code) Data() []Stretch {
	var out []Stretch
	for _, g := range c.im.regions {
		if b := c.im.bytes(g.addr, g.size); !g.exec && b != nil {
			out = append(out, Stretch{g.addr, b})
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
	i := f.Index(fn.Entry)
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
