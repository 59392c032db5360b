package ptrace

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	pageSize = 4096
	// lowest and highest are what user space may map: below, the kernel keeps
	// a hole to catch nil pointers; above is the end of four-level page tables.
	lowest  = 0x10000
	highest = 0x7fff_ffff_f000
	// distance is kept from what is mapped, so that it can grow a little.
	distance = 1 << 20
)

// byNumber are addresses that programs map by number, later than we look.
var byNumber = []span{
	{0x7fff_8000, 0x1000_7fff_8000},      // the address sanitizer's shadow; the Go heap, from 0xc0_0000_0000
	{0x2000_0000_0000, 0x21c0_0000_0000}, // the race detector's shadow
	{0x3000_0000_0000, 0x4000_0000_0000}, // and its notes on the heap
	{0, lowest},
	{highest, 0xffff_ffff_ffff_f000},
}

// span is a range of addresses; end is the first behind it.
type span struct{ start, end uint64 }

// FindRoom finds room for size bytes, in whole pages, of which none is further than
// reach bytes from the address near: the closest there is, so that the same
// process gives the same answer. It keeps away from where the program's heap and
// stack grow and from what Go and the sanitizers map by number. errTaken says
// that there is no room.
func (p *Process) FindRoom(near, size, reach uint64) (addr uint64, err error) {
	maps, err := p.Maps()
	if err != nil {
		return 0, err
	}
	brk, err := p.brk()
	if err != nil {
		return 0, err
	}
	// Room for the stack and for the heap that brk makes, which C code uses: the
	// more the better.
	for _, growth := range []uint64{1 << 30, 256 << 20, 64 << 20, 16 << 20} {
		taken := slices.Clone(byNumber)
		taken = append(taken, span{brk - min(brk, distance), brk + growth})
		for _, m := range maps {
			room := uint64(distance)
			if m.Path == "[stack]" {
				room = growth
			}
			taken = append(taken, span{m.Start - min(m.Start, room), m.End + distance})
		}
		if addr, ok := closest(taken, near, size, reach); ok {
			return addr, nil
		}
	}
	return 0, fmt.Errorf("process %d: %w: no %d free bytes within %d bytes of %#x", p.pid, errTaken, size, reach, near)
}

// closest finds the room that begins closest to an address; of two that are equally
// close, the lower one.
func closest(taken []span, near, size, reach uint64) (addr uint64, ok bool) {
	size = (size + pageSize - 1) &^ (pageSize - 1)
	if size == 0 || size > highest {
		return 0, false
	}
	slices.SortFunc(taken, func(a, b span) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	from := near - min(near, reach)
	to := near + min(highest-min(near, highest), reach)
	best := uint64(0)
	try := func(start, end uint64) { // a gap
		start = max(start, from)
		end = min(end, to)
		start = (start + pageSize - 1) &^ (pageSize - 1)
		end &^= pageSize - 1
		if end < start || end-start < size {
			return
		}
		at := min(max(near&^(pageSize-1), start), end-size)
		if d := max(at, near) - min(at, near); !ok || d < best {
			addr, best, ok = at, d, true
		}
	}
	end := uint64(0) // of what is taken up to here
	for _, s := range taken {
		if s.start > end {
			try(end, s.start)
		}
		end = max(end, s.end)
	}
	try(end, highest)
	return addr, ok
}

// brk is where the program's heap begins, the one that the brk system call grows.
func (p *Process) brk() (uint64, error) {
	const field = 47 // of /proc/PID/stat, counted from 1
	name := fmt.Sprintf("/proc/%d/stat", p.pid)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may hold anything.
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	if len(fields) <= field-3 {
		return 0, fmt.Errorf("%s: %w", name, unix.EINVAL)
	}
	n, err := strconv.ParseUint(fields[field-3], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
