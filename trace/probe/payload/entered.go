package payload

import (
	"fmt"
	"io"
)

// Entered is a call of a hooked function that a goroutine has entered. It may have returned
// since: then the return address is not in its place any more, or that is no place of a
// frame.
type Entered struct {
	Node   uint32 // number of the node that the calls made in it belong to
	Slot   uint64 // where the return address was
	Return uint64
}

// Called is how many nodes there are, by the header of the shared memory.
func (l Layout) Called(mem []byte) uint64 { return le.Uint64(mem[orderOff:]) }

// A goroutine's state and the entries of its shadow stack: see source/recorder_amd64.s.
const (
	stateTop   = 8
	stateTable = 40
	stateBase  = 48
	stateG     = 64
	stateSize  = 96

	entrySize = 16

	gHigh = 8 // g.stack.hi, behind g.stack.lo
)

const (
	maxStack = 8 << 20 // bytes that are read of a goroutine's stack
	readPart = 1 << 20
)

// Entered returns what the goroutine has entered whose stack an address is in, outermost first,
// and the stack from there on. Target is the memory of the process, by address, mem what it
// shares with us.
func (l Layout) Entered(target io.ReaderAt, mem []byte, r Runtime, sp uint64) (calls []Entered, stack []byte, err error) {
	state, high, err := l.stateOf(target, mem, r, sp)
	if err != nil {
		return nil, nil, err
	}
	base, top := le.Uint64(state[stateBase:]), le.Uint64(state[stateTop:])
	arena := l.Base + l.arenaOff()
	if base < arena || top < base || top+entrySize > arena+l.arena || (top-base)%entrySize != 0 {
		return nil, nil, fmt.Errorf("the shadow stack is damaged")
	}
	entries := make([]byte, top-base+entrySize)
	if _, err := target.ReadAt(entries, int64(base)); err != nil {
		return nil, nil, err
	}
	for e := entries[entrySize:]; len(e) > 0; e = e[entrySize:] { // the first one is the goroutine's own
		depth := int32(le.Uint32(e))
		if depth&1 != 0 {
			continue // a waypoint's
		}
		cell := uint64(le.Uint32(e[4:]) >> nameBits)
		if cell >= l.slots {
			continue
		}
		calls = append(calls, Entered{
			Node: le.Uint32(mem[l.ordersOff()+cell*orderSize:]), Slot: high + uint64(int64(depth)) + 8, Return: le.Uint64(e[8:]),
		})
	}
	stack = make([]byte, min(high-sp, maxStack))
	_, err = target.ReadAt(stack, int64(sp))
	return calls, stack, err
}

// stateOf finds the state of the goroutine whose stack an address is in, and the stack's end.
func (l Layout) stateOf(target io.ReaderAt, mem []byte, r Runtime, sp uint64) (state []byte, high uint64, err error) {
	from := l.Base + l.arenaOff()
	to := min(le.Uint64(mem[nextOff:]), from+l.arena)
	var word [16]byte
	read := func(addr uint64) []byte {
		if _, err := target.ReadAt(word[:], int64(addr)); err != nil {
			return make([]byte, len(word))
		}
		return word[:]
	}
	part := make([]byte, min(readPart, to-from))
	for at := from; at+stateSize <= to; at += uint64(len(part)) - stateSize {
		part = part[:min(uint64(len(part)), to-at)]
		if _, err := target.ReadAt(part, int64(at)); err != nil {
			return nil, 0, err
		}
		for i := 0; i+stateSize <= len(part); i += 16 {
			s := part[i : i+stateSize]
			if le.Uint64(s[stateTable:]) != l.Base+l.tableOff() {
				continue
			}
			g := le.Uint64(s[stateG:])
			if g == 0 || le.Uint64(read(g+uint64(r.State))) != at+uint64(i) {
				continue
			}
			stack := read(g)
			if lo, hi := le.Uint64(stack), le.Uint64(stack[gHigh:]); lo <= sp && sp < hi {
				return s, hi, nil
			}
		}
		if at+uint64(len(part)) >= to {
			break
		}
	}
	return nil, 0, fmt.Errorf("no goroutine has its stack there")
}
