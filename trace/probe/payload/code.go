package payload

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
)

var le = binary.LittleEndian

// recorder is made of source/recorder_amd64.s by "make recorder".
//
//go:embed recorder.bin
var recorder []byte

// Runtime is where the target's runtime keeps what the recorder reads: offsets
// in its structs g, m and p, in bytes. They differ between Go releases.
type Runtime struct {
	State uint32 // g: a word that nothing uses; the recorder does
	GoID  uint32 // g.goid
	GoPC  uint32 // g.gopc
	M     uint32 // g.m
	P     uint32 // m.p
	ID    uint32 // p.id
}

// Code is machine code that is ready to be copied to any place.
type Code struct {
	Bytes []byte
	Enter uint32 // offset of the entry for functions
	Leaf  uint32 // offset of the entry for functions that call nothing and have no blocks
	Block uint32 // offset of the entry for blocks of inlined bodies, where RBP is that of their function
	Bare  uint32 // offset of the entry for blocks in functions without a frame
	Way   uint32 // offset of the entry for waypoints
	Call  uint32 // offset of the entry for direct calls
}

// A hole is a number in the recorder's code that stands for one that is known
// only when the target is. See source/recorder_amd64.s.
type hole struct {
	mark  uint64
	size  int // in bytes
	value uint64
}

const (
	holes32   = 0x7e57_0000
	holes64   = 0x7e57_0000_7e57_0000
	blockMark = holes64 + 8
	leafMark  = holes64 + 10
	bareMark  = holes64 + 14
	wayMark   = holes64 + 15
	callMark  = holes64 + 16

	entryAlign = 64 // PCALIGN behind the marks
)

// Assemble fills the recorder's holes: for a target whose runtime has this
// layout.
func Assemble(r Runtime, l Layout) (Code, error) {
	if l.slots > maxSlots || l.maxCells > l.slots || l.firstCell() > l.maxCells || l.far()*slotSize > math.MaxUint32+1 {
		return Code{}, fmt.Errorf("the recorder's tables cannot have %d slots", l.slots)
	}
	holes := []hole{
		{holes32 + 1, 4, uint64(r.State)},
		{holes32 + 2, 4, uint64(r.GoID)},
		{holes32 + 3, 4, uint64(r.GoPC)},
		{holes32 + 4, 4, uint64(r.M)},
		{holes32 + 5, 4, uint64(r.P)},
		{holes32 + 6, 4, uint64(r.ID)},
		{holes32 + 7, 4, (l.far() - 1) * slotSize},
		{holes32 + 9, 4, l.rows},
		{holes32 + 10, 4, l.rowBytes()},
		{holes32 + 11, 4, l.maxCells},
		{holes32 + 12, 4, l.firstCell()},
		{holes64 + 1, 8, l.Base},
		{holes64 + 2, 8, l.Base + l.tableOff()},
		{holes64 + 3, 8, l.Base + l.nodesOff()},
		{holes64 + 4, 8, l.Base + l.nodesOff()},
		{holes64 + 5, 8, l.Base + l.countsOff()},
		{holes64 + 6, 8, l.Base + l.countsOff() + l.rows*l.rowBytes()},
		{holes64 + 7, 8, l.Base + overflowOff},
		{holes64 + 11, 8, l.Base + l.farOff()},
		{holes64 + 12, 8, l.Base + l.ordersOff()},
		{holes64 + 13, 8, l.Base + l.innerOff()},
	}
	c := Code{Bytes: bytes.Clone(recorder)}
	for _, e := range []struct {
		mark uint64
		to   *uint32
	}{{blockMark, &c.Block}, {leafMark, &c.Leaf}, {bareMark, &c.Bare}, {wayMark, &c.Way}, {callMark, &c.Call}} {
		at := bytes.Index(c.Bytes, le.AppendUint64(nil, e.mark))
		if at < 0 {
			return Code{}, fmt.Errorf("the recorder's code is damaged: it has no entry %#x", e.mark)
		}
		*e.to = uint32(at+8+entryAlign-1) &^ (entryAlign - 1)
	}
	// 64-bit marks hold 32-bit ones, so they are first.
	for i := len(holes) - 1; i >= 0; i-- {
		h := holes[i]
		mark := le.AppendUint64(nil, h.mark)[:h.size]
		n := 0
		for from := 0; ; n++ {
			j := bytes.Index(recorder[from:], mark)
			if j < 0 {
				break
			}
			from += j
			if h.size == 4 && inWide(from) {
				from++
				n--
				continue
			}
			copy(c.Bytes[from:], le.AppendUint64(nil, h.value)[:h.size])
			from += h.size
		}
		if n == 0 {
			return Code{}, fmt.Errorf("the recorder's code is damaged: it has no hole %#x", h.mark)
		}
	}
	return c, nil
}

// inWide reports whether the bytes at this offset are part of a 64-bit mark.
func inWide(at int) bool {
	for _, from := range []int{at, at - 4} {
		if from >= 0 && from+8 <= len(recorder) {
			if w := le.Uint64(recorder[from:]); w >= holes64 && w < holes64+17 {
				return true
			}
		}
	}
	return false
}
