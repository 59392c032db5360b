package values

import (
	"errors"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/op"
)

// convention is how Go passes arguments and results on an architecture, by
// src/cmd/compile/abi-internal.md.
type convention struct {
	ints, floats []uint64 // DWARF's numbers of the registers, in the order of use
	slotSize     int64    // of the return address that a call pushes
	argsOffset   int64    // from the frame's CFA to the arguments on the stack
}

var conventions = map[string]convention{
	"amd64": {
		ints:     []uint64{0, 3, 2, 5, 4, 8, 9, 10, 11}, // RAX RBX RCX RDI RSI R8 R9 R10 R11
		floats:   from(17, 15),                          // X0 to X14
		slotSize: wordSize,
	},
	"arm64": {
		ints:   from(0, 16),  // R0 to R15
		floats: from(64, 16), // F0 to F15
		// A function saves the link register at the stack pointer of its caller.
		argsOffset: wordSize,
	},
}

func from(first uint64, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = first + uint64(i)
	}
	return out
}

// wordSize is that of a pointer on the architectures above.
const wordSize = 8

// maxObject bounds an argument on the stack that is read, in bytes.
const maxObject = 1 << 16

var (
	errTooLarge   = errors.New("too large")
	errUnreadable = errors.New("not readable")
)

// place is where a value is: in registers, or on the stack.
type place struct {
	parts   []part
	inStack bool
	offset  int64 // from the first argument on the stack
}

// part is the part of a value that is in one register.
type part struct {
	offset, size int64 // within the value
	reg          uint64
}

// agrees reports whether DWARF's location, an address or pieces, is this place. The
// stack's arguments begin at args. DWARF's pieces are in the order of the parts; in
// some compilations there are pieces of padding between them. A piece that it does
// not know agrees with any part.
func (p *place) agrees(addr uint64, pieces []op.Piece, args uint64) bool {
	if p.inStack {
		if len(pieces) == 0 {
			return addr == args+uint64(p.offset)
		}
		at := args + uint64(p.offset)
		for _, piece := range pieces {
			if piece.Kind == op.RegPiece || piece.Kind == op.AddrPiece && piece.Val != at {
				return false
			}
			at += uint64(piece.Size)
		}
		return true
	}
	if len(p.parts) == 0 {
		return true // what has no size has no place
	}
	next := 0
	for _, piece := range pieces {
		switch piece.Kind {
		case op.AddrPiece:
			return false
		case op.RegPiece:
			for next < len(p.parts) && p.parts[next].reg != piece.Val {
				next++
			}
			if next == len(p.parts) {
				return false
			}
			next++
		}
	}
	return len(pieces) > 0
}

// assign gives every parameter its place. Results have registers of their own, and
// are on the stack behind the arguments.
func (c *convention) assign(fn *Function) {
	end := c.sequence(fn.args, 0)
	c.sequence(fn.results, align(end, wordSize))
}

// sequence places parameters in order, those of the stack from offset on, and
// returns where they end.
func (c *convention) sequence(params []parameter, offset int64) int64 {
	used := &registers{c: c}
	for i := range params {
		p := &params[i]
		before := *used
		parts, ok := used.take(p.typ, 0, nil)
		if ok {
			p.place = place{parts: parts}
			continue
		}
		// All of a value is in registers, or none.
		*used = before
		offset = align(offset, alignOf(p.typ))
		p.place = place{inStack: true, offset: offset}
		offset += sizeOf(p.typ)
	}
	return offset
}

// registers are those that are taken.
type registers struct {
	c            *convention
	ints, floats int
}

// take adds the registers of a value of type t, which is at offset within the
// whole, and reports whether there were enough.
func (r *registers) take(t godwarf.Type, offset int64, parts []part) ([]part, bool) {
	ints := func(n int64) ([]part, bool) {
		for i := range n {
			if r.ints == len(r.c.ints) {
				return nil, false
			}
			parts = append(parts, part{offset + i*wordSize, wordSize, r.c.ints[r.ints]})
			r.ints++
		}
		return parts, true
	}
	floats := func(n, size int64) ([]part, bool) {
		for i := range n {
			if r.floats == len(r.c.floats) {
				return nil, false
			}
			parts = append(parts, part{offset + i*size, size, r.c.floats[r.floats]})
			r.floats++
		}
		return parts, true
	}
	switch t := t.(type) {
	case *godwarf.InterfaceType:
		return ints(2)
	case *godwarf.MapType, *godwarf.ChanType, *godwarf.PtrType, *godwarf.FuncType:
		return ints(1)
	case *godwarf.ParametricType:
		return r.take(t.Type, offset, parts)
	case *godwarf.TypedefType:
		return r.take(t.Type, offset, parts)
	case *godwarf.StringType:
		return ints(2)
	case *godwarf.SliceType:
		return ints(3)
	case *godwarf.StructType:
		for _, f := range t.Field {
			var ok bool
			if parts, ok = r.take(f.Type, offset+f.ByteOffset, parts); !ok {
				return nil, false
			}
		}
		return parts, true
	case *godwarf.ArrayType:
		switch t.Count {
		case 0:
			return parts, true
		case 1:
			return r.take(t.Type, offset, parts)
		}
		return nil, false
	case *godwarf.FloatType:
		return floats(1, t.Size())
	case *godwarf.ComplexType:
		return floats(2, t.Size()/2)
	}
	if size := t.Size(); size > 0 && size <= wordSize {
		parts, ok := ints(1)
		if ok {
			parts[len(parts)-1].size = size
		}
		return parts, ok
	}
	return nil, false
}

// sizeOf and alignOf know what a function value is, of which DWARF gives the
// function's type.
func sizeOf(t godwarf.Type) int64 {
	if _, ok := godwarf.ResolveTypedef(t).(*godwarf.FuncType); ok {
		return wordSize
	}
	return max(0, t.Size())
}

func alignOf(t godwarf.Type) int64 {
	if _, ok := godwarf.ResolveTypedef(t).(*godwarf.FuncType); ok {
		return wordSize
	}
	return min(wordSize, max(1, t.Align()))
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }
