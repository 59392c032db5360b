package probe

import (
	"encoding/binary"
	"slices"
)

// savedPC is a word of a process's memory that is the address of an instruction.
type savedPC struct{ at, pc uint64 }

// Where a g has what tells how much of its stack is in use, in all releases that
// this recorder knows: stack.lo and stack.hi, and sched, whose words are sp, pc and
// g, the last of which is the g's own address.
const (
	schedSP   = 56
	schedG    = 72
	gSize     = 80
	mostStack = 1 << 30
)

// inUse returns those words that a goroutine may return to: the ones in the part
// of a stack that is in use. Others are what earlier calls left behind.
//
// Of the goroutine that a thread runs the thread knows how deep the stack is. If
// one is elsewhere, such as in a signal's handler, none of this is certain, and all
// words count.
func (r *running) inUse(words []savedPC) ([]savedPC, error) {
	if len(words) == 0 {
		return nil, nil
	}
	threads, err := r.proc.Threads()
	if err != nil {
		return nil, err
	}
	var points []uint64
	for _, t := range threads {
		points = append(points, t.Regs.Rsp)
	}
	for _, w := range words {
		points = append(points, w.at)
	}
	slices.Sort(points)
	type stack struct{ lo, sp, hi uint64 }
	var stacks []stack
	var before uint64
	err = r.scan(func(addr, word uint64) {
		lo, hi := before, word
		before = word
		if lo >= hi || hi-lo > mostStack || lo%16 != 0 {
			return
		}
		if i, _ := slices.BinarySearch(points, lo); i == len(points) || points[i] >= hi {
			return
		}
		var g [gSize]byte
		if n, _ := r.proc.ReadAt(g[:], int64(addr-8)); n < len(g) || binary.LittleEndian.Uint64(g[schedG:]) != addr-8 {
			return
		}
		stacks = append(stacks, stack{lo, binary.LittleEndian.Uint64(g[schedSP:]), hi})
	})
	if err != nil {
		return nil, err
	}
	for _, t := range threads {
		known := false
		for i := range stacks {
			if s := &stacks[i]; t.Regs.Rsp >= s.lo && t.Regs.Rsp < s.hi {
				s.sp, known = t.Regs.Rsp, true
			}
		}
		if !known {
			return words, nil
		}
	}
	return slices.DeleteFunc(words, func(w savedPC) bool {
		return !slices.ContainsFunc(stacks, func(s stack) bool { return w.at >= s.lo && w.at < s.hi && (w.at >= s.sp || s.sp < s.lo) })
	}), nil
}
