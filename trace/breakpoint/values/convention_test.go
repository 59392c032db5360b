package values

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/op"
)

func size(n int64) godwarf.CommonType { return godwarf.CommonType{ByteSize: n} }

var (
	integer  = &godwarf.IntType{BasicType: godwarf.BasicType{CommonType: size(8)}}
	small    = &godwarf.IntType{BasicType: godwarf.BasicType{CommonType: size(1)}}
	real     = &godwarf.FloatType{BasicType: godwarf.BasicType{CommonType: size(4)}}
	cplx     = &godwarf.ComplexType{BasicType: godwarf.BasicType{CommonType: size(16)}}
	text     = &godwarf.StringType{StructType: godwarf.StructType{CommonType: size(16)}}
	function = &godwarf.FuncType{CommonType: size(-1)}
)

func array(n int64, of godwarf.Type) godwarf.Type {
	return &godwarf.ArrayType{CommonType: size(n * of.Size()), Type: of, Count: n}
}

func structure(n int64, fields ...*godwarf.StructField) godwarf.Type {
	return &godwarf.StructType{CommonType: size(n), Kind: "struct", Field: fields}
}

func field(at int64, t godwarf.Type) *godwarf.StructField {
	return &godwarf.StructField{Type: t, ByteOffset: at, ByteSize: t.Size()}
}

// Where a function's arguments and results are, on amd64: "offset:register" for each
// part of one, "stack+N", or "-" for what has no size. The registers' numbers are
// DWARF's: 0, 3, 2, 5, 4, 8, 9, 10, 11 for integers, from 17 on for floats. Whole programs are
// held against the compiler in trace/breakpoint.
func TestConvention(t *testing.T) {
	pair := structure(16, field(0, small), field(8, text))
	for _, c := range []struct {
		name          string
		args, results []godwarf.Type
		want          string
	}{
		{"registers of both kinds", []godwarf.Type{integer, real, text, cplx}, []godwarf.Type{integer}, "0:0 | 0:17 | 0:3 8:2 | 0:18 8:19 -> 0:0"},
		{"a struct's fields", []godwarf.Type{pair, function}, nil, "0:0 8:3 16:2 | 0:5 ->"},
		{"no size", []godwarf.Type{structure(0), array(0, integer), integer}, []godwarf.Type{structure(0)}, "- | - | 0:0 -> -"},
		{"arrays", []godwarf.Type{array(1, text), array(2, small), integer}, []godwarf.Type{array(2, integer), small}, "0:0 8:3 | stack+0 | 0:2 -> stack+8 | 0:0"},
		{"all or nothing", []godwarf.Type{integer, integer, integer, integer, integer, integer, integer, integer, text, integer}, nil,
			"0:0 | 0:3 | 0:2 | 0:5 | 0:4 | 0:8 | 0:9 | 0:10 | stack+0 | 0:11 ->"},
		{"a type parameter", []godwarf.Type{&godwarf.ParametricType{TypedefType: godwarf.TypedefType{Type: text}}}, nil, "0:0 8:3 ->"},
	} {
		fn := &Function{}
		for _, a := range c.args {
			fn.args = append(fn.args, parameter{typ: a})
		}
		for _, r := range c.results {
			fn.results = append(fn.results, parameter{typ: r})
		}
		conv := conventions["amd64"]
		conv.assign(fn)
		if got := strings.TrimSpace(places(fn.args) + " -> " + places(fn.results)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func places(params []parameter) string {
	var out []string
	for _, p := range params {
		var parts []string
		for _, part := range p.place.parts {
			parts = append(parts, fmt.Sprintf("%d:%d", part.offset, part.reg))
		}
		switch {
		case p.place.inStack:
			parts = []string{fmt.Sprintf("stack+%d", p.place.offset)}
		case parts == nil:
			parts = []string{"-"}
		}
		out = append(out, strings.Join(parts, " "))
	}
	return strings.Join(out, " | ")
}

// What DWARF says agrees with a place, or does not; what it does not say agrees.
func TestAgrees(t *testing.T) {
	const args = 1000
	reg := func(n uint64) op.Piece { return op.Piece{Size: 8, Kind: op.RegPiece, Val: n} }
	at := func(a uint64) op.Piece { return op.Piece{Size: 8, Kind: op.AddrPiece, Val: a} }
	unknown := op.Piece{Size: 8, Kind: op.ImmPiece}
	inRegs := place{parts: []part{{0, 8, 0}, {8, 8, 3}}}
	onStack := place{inStack: true, offset: 16}
	for _, c := range []struct {
		name   string
		p      place
		addr   uint64
		pieces []op.Piece
		want   bool
	}{
		{"the same registers", inRegs, 0, []op.Piece{reg(0), reg(3)}, true},
		{"padding between them", inRegs, 0, []op.Piece{reg(0), unknown, reg(3)}, true},
		{"one not known", inRegs, 0, []op.Piece{unknown, reg(3)}, true},
		{"other registers", inRegs, 0, []op.Piece{reg(3), reg(0)}, false},
		{"on the stack instead", inRegs, 1000, nil, false},
		{"partly on the stack instead", inRegs, 0, []op.Piece{reg(0), at(1008)}, false},
		{"the same address", onStack, 1016, nil, true},
		{"the same addresses", onStack, 0, []op.Piece{at(1016), at(1024)}, true},
		{"another address", onStack, 1008, nil, false},
		{"a register instead", onStack, 0, []op.Piece{reg(0), at(1024)}, false},
		{"of no size, anywhere", place{}, 4711, nil, true},
	} {
		if got := c.p.agrees(c.addr, c.pieces, args); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
